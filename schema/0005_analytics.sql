-- 0005_analytics
-- What:     periods, what lines count as and what happened to them, as projections; the context
--           that a generation's rows were made in.
-- Why:      metrics are sums over rows, not folds of the whole record.
-- Locks:    projection.generation and projection.build, while columns with a constant are added.
-- Undo:     drop table projection.period, projection.coverage, projection.movement;
--           alter table projection.generation drop column context, drop column context_since;
--           alter table projection.build drop column context;
--           delete from projection.generation where projection in ('periods', 'metrics').
-- Breaking: no; a daemon built before this migration runs on, and leaves the new tables alone.

alter table projection.generation
    add column context bigint not null default 0,
    add column context_since bigint not null default 0;
alter table projection.build
    add column context bigint not null default 0;

comment on column projection.generation.context is
    'The last entry of settings that its rows are made with; 0: none.';
comment on column projection.generation.context_since is
    'Settings up to any entry from this one to context make the same rows.';
comment on column projection.build.context is
    'The last entry of settings that its rows are made with; 0: none.';

create table projection.period (
    generation bigint not null,
    bucket smallint not null,
    stream text not null,
    transaction text not null,
    purchased_at bigint not null,
    from_at bigint not null,
    until_at bigint,
    expires_at bigint,
    revoked_at bigint,
    reversed_at bigint,
    refund_share bigint,
    price bigint,
    paid_number bigint,
    customer bigint,
    plan_is_inferred boolean not null,
    is_refunded boolean not null,
    is_upgraded boolean not null,
    environment text not null,
    original text not null,
    bundle text not null,
    product text not null,
    product_group text,
    shape text not null,
    class text not null,
    plan text,
    web_order_line_item text,
    currency text,
    storefront text,
    offer text,
    ownership text,
    ending text not null,
    flags text,
    evidence text not null,
    primary key (generation, bucket, stream, transaction)
);

comment on table projection.period is
    'One span of access that one charge paid for, one row each. Times are ms since 1970.';
comment on column projection.period.transaction is
    'The lowest of the transaction ids that stand for it.';
comment on column projection.period.paid_number is
    'Its number among the paid periods of its line, from 1; empty when it was not paid for.';
comment on column projection.period.customer is
    'Whose it is by the line''s own words when it begins: a number on the record.';
comment on column projection.period.refund_share is
    'What went back and was not taken again, in thousandths of a percent of the price.';
comment on column projection.period.evidence is
    'Positions of the entries that state it, in order, with commas between.';

create table projection.coverage (
    generation bigint not null,
    bucket smallint not null,
    stream text not null,
    from_at bigint not null,
    until_at bigint not null,
    first_paid_at bigint,
    price bigint,
    is_in_grace boolean not null,
    is_ended boolean not null,
    kind text not null,
    outlook text,
    reason text,
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

comment on table projection.coverage is
    'What a line counts as from one instant to another; rows that adjoin differ.';
comment on column projection.coverage.kind is 'paid, trial, free, family or retry.';
comment on column projection.coverage.outlook is
    'What the newest renewal info signed by then says: set_to_renew, set_to_cancel, billing_issue.';
comment on column projection.coverage.reason is
    'Why the line has ended when it ends with this period.';
comment on column projection.coverage.is_ended is
    'False when the next period follows a gap about which nothing is known.';
comment on column projection.coverage.first_paid_at is 'When the line was paid for first.';
comment on column projection.coverage.other_app is
    'The app of the period when that of its line, bundle, is another.';

create table projection.movement (
    generation bigint not null,
    bucket smallint not null,
    stream text not null,
    number bigint not null,
    at bigint not null,
    known_from bigint not null,
    known_until bigint not null,
    marks bigint not null,
    amount bigint,
    share bigint,
    environment text not null,
    bundle text,
    other_app text,
    product text,
    plan text,
    product_group text,
    storefront text,
    currency text,
    offer text,
    primary key (generation, bucket, stream, number)
);

create index movement_by_time on projection.movement (generation, environment, at);
-- Unpriced, inferred, gap unknown: bits 29 to 31.
create index movement_in_doubt on projection.movement (generation, environment, marks)
    where marks >= 536870912;

comment on table projection.movement is 'What happened to a line at an instant.';
comment on column projection.movement.number is 'Its place among the movements of its line.';
comment on column projection.movement.known_from is
    'It is so by instants of knowledge from this one on, and before known_until.';
comment on column projection.movement.marks is
    'Bits: 0 first paid after a trial, 1 as introduction, 2 directly, 3 renewed, 4 bought again, '
    '5 upgraded, 6 downgraded, 7 crossgraded, 8 credit unknown, 9 recovered in grace, '
    '10 after a gap, '
    '11 first trial, 12 trial, 13 converts, 14 pending, 15 abandoned, 16 converts late, '
    '17 converted then, 18 lapsed then, 19 grace entered, 20 lost in retry, 21 preference changed, '
    '22 extended, 23 paid, 24 refunded, 25 reversed, 26 taken out, 27 refundable, 28 that was '
    'refunded, 29 unpriced, 30 plan inferred, 31 gap unknown.';
comment on column projection.movement.amount is 'Milliunits of currency, or days of an extension.';
comment on column projection.movement.share is
    'The part of the amount that counts, in thousandths of a percent.';

grant select, insert, update, delete, truncate
    on projection.period, projection.coverage, projection.movement to subledger_daemon;
