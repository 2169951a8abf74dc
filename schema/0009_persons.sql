-- 0009_persons
-- What:     whose lines are, how they began and which periods they reached, as tables of the
--           projection metrics.
-- Why:      metrics of persons and of cohorts are sums over rows, not folds of the whole record.
-- Locks:    none; creates new objects only.
-- Undo:     drop table projection.tenure, projection.beginning, projection.retention;
--           delete from projection.generation where projection = 'metrics';
--           delete from projection.build where projection = 'metrics'.
-- Breaking: no; a daemon built before this migration leaves the projection metrics to newer ones.

create table projection.tenure (
    generation bigint not null,
    bucket smallint not null,
    stream text not null,
    from_at bigint not null,
    until_at bigint not null,
    customer bigint,
    is_token boolean not null,
    environment text not null,
    bundle text,
    other_app text,
    product text,
    plan text,
    product_group text,
    storefront text,
    currency text,
    offer text,
    primary key (generation, bucket, stream, from_at)
);

create index tenure_by_customer on projection.tenure (generation, customer);

comment on table projection.tenure is
    'Whose a line is by its own words from one instant to another; rows that adjoin differ.';
comment on column projection.tenure.customer is
    'A customer''s number, or a token''s; empty while the line is nobody''s.';
comment on column projection.tenure.is_token is
    'Whether it is a token''s, which may be bound to another customer.';
comment on column projection.tenure.product is
    'The product of the last period that has begun; this and what follows of nobody''s lines alone.';

create table projection.beginning (
    generation bigint not null,
    bucket smallint not null,
    stream text not null,
    start_at bigint not null,
    first_at bigint not null,
    paid_at bigint,
    has_tried boolean not null,
    has_converted boolean not null,
    transaction text not null,
    first_currency text,
    environment text not null,
    bundle text,
    other_app text,
    product text,
    plan text,
    product_group text,
    storefront text,
    currency text,
    offer text,
    primary key (generation, bucket, stream)
);

comment on table projection.beginning is 'How a line began, one row each. Times are ms since 1970.';
comment on column projection.beginning.start_at is 'When access begins for the first time.';
comment on column projection.beginning.first_at is
    'When the first period was bought; product and what follows are that period''s.';
comment on column projection.beginning.paid_at is
    'When something of it was paid for first; empty: never.';
comment on column projection.beginning.has_tried is 'Whether it ever was a trial.';
comment on column projection.beginning.has_converted is
    'Whether a trial was followed by a paid period in time.';
comment on column projection.beginning.transaction is 'The first period.';
comment on column projection.beginning.first_currency is
    'The first currency that a period of it names.';

create table projection.retention (
    generation bigint not null,
    bucket smallint not null,
    stream text not null,
    first_at bigint not null,
    periods text not null,
    environment text not null,
    bundle text,
    other_app text,
    product text,
    plan text,
    product_group text,
    storefront text,
    currency text,
    offer text,
    primary key (generation, bucket, stream)
);

create index retention_by_time on projection.retention (generation, environment, first_at);

comment on table projection.retention is
    'Which periods a line reached after its first one at full price, one row each.';
comment on column projection.retention.first_at is
    'When that one was bought, in ms since 1970; product and what follows are its own.';
comment on column projection.retention.periods is
    'Numbers of plan lengths after the first period, itself being 1, in order, with commas between.';

grant select, insert, update, delete, truncate
    on projection.tenure, projection.beginning, projection.retention to subledger_daemon;
