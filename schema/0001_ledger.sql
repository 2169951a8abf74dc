-- 0001_ledger
-- What:     the four schemas; the record; what is operated; the first projections; report views.
-- Why:      a ledger that is only appended to, beside what may change and what may be dropped.
-- Locks:    none; creates new objects only.
-- Undo:     drop schema report, projection, operation, ledger cascade.
-- Breaking: no; nothing runs before it.

create schema ledger;
create schema operation;
create schema projection;
create schema report;

grant usage on schema ledger, operation, projection, report to subledger_daemon;
grant usage on schema report to subledger_analyst;

-- The record.

create table ledger.batch (
    number bigint primary key,
    previous bigint,
    previous_last bigint,
    first_position bigint not null,
    last_position bigint not null,
    recorded_at bigint not null,
    digest bytea not null,
    root bytea not null,
    frontier bytea not null,
    unique (number, last_position),
    foreign key (previous, previous_last) references ledger.batch (number, last_position),
    check (number >= 1 and last_position >= first_position),
    check ((number = 1) = (previous is null) and (previous is null) = (previous_last is null)),
    check (previous = number - 1),
    check (first_position = coalesce(previous_last, 0) + 1)
);

comment on table ledger.batch is
    'One append: the pen is the next number. The newest row is the head of the ledger.';
comment on column ledger.batch.recorded_at is 'The writer''s clock, ms since 1970; always growing.';
comment on column ledger.batch.digest is
    'SHA-256 over the predecessor''s digest, this row''s numbers and its entries'' digests.';
comment on column ledger.batch.root is 'Root of the hash tree over all entries (RFC 9162).';
comment on column ledger.batch.frontier is
    'Roots of the complete subtrees, the largest first, 32 bytes each.';

create table ledger.entry (
    bucket smallint not null,
    position bigint not null,
    stream text not null,
    revision bigint not null,
    kind text not null,
    event_key text not null,
    environment text,
    subject bigint,
    occurred_at bigint not null,
    signed_at bigint,
    observed_at bigint not null,
    recorded_at bigint not null,
    source text not null,
    evidence bytea,
    body json not null,
    digest bytea not null,
    primary key (position, bucket),
    unique (bucket, stream, revision),
    unique (bucket, stream, event_key)
);

create index entry_by_subject on ledger.entry (subject, position) where subject is not null;

comment on table ledger.entry is 'A fact at its place. Times are ms since 1970.';
comment on column ledger.entry.subject is 'The random number of the customer that it names.';

create table ledger.evidence (
    bucket smallint not null,
    digest bytea not null,
    received_at bigint not null,
    source text not null,
    template bytea not null,
    certificates bytea[] not null,
    tokens bigint[] not null,
    unique (bucket, digest)
);

comment on table ledger.evidence is
    'Signed text as it arrived, without what other rows hold: certificates and account tokens.';

create table ledger.certificates (
    digest bytea primary key,
    header bytea not null
);

comment on table ledger.certificates is 'Header segments of signed texts, each once.';

create table ledger.held (
    bucket smallint not null,
    digest bytea not null,
    received_at bigint not null,
    source text not null,
    reason text not null,
    detail text not null,
    presented_by bigint,
    template bytea not null,
    certificates bytea[] not null,
    tokens bigint[] not null,
    unique (bucket, digest)
);

create index held_by_reason on ledger.held (reason, received_at);

comment on table ledger.held is 'Validly signed and not (yet) believed; never evicted.';

-- Nothing on the record changes, whoever asks.

create function ledger.refuse() returns trigger language plpgsql as $$
begin
    raise exception 'the record is append-only: % of %.% is refused',
        lower(tg_op), tg_table_schema, tg_table_name using errcode = 'insufficient_privilege';
end
$$;

create trigger append_only before update or delete on ledger.batch
    for each row execute function ledger.refuse();
create trigger append_only before update or delete on ledger.entry
    for each row execute function ledger.refuse();
create trigger append_only before update or delete on ledger.evidence
    for each row execute function ledger.refuse();
create trigger append_only before update or delete on ledger.certificates
    for each row execute function ledger.refuse();
create trigger append_only before update or delete on ledger.held
    for each row execute function ledger.refuse();

create trigger no_truncate before truncate on ledger.batch
    for each statement execute function ledger.refuse();
create trigger no_truncate before truncate on ledger.entry
    for each statement execute function ledger.refuse();
create trigger no_truncate before truncate on ledger.evidence
    for each statement execute function ledger.refuse();
create trigger no_truncate before truncate on ledger.certificates
    for each statement execute function ledger.refuse();
create trigger no_truncate before truncate on ledger.held
    for each statement execute function ledger.refuse();

alter table ledger.batch enable always trigger append_only;
alter table ledger.entry enable always trigger append_only;
alter table ledger.evidence enable always trigger append_only;
alter table ledger.certificates enable always trigger append_only;
alter table ledger.held enable always trigger append_only;
alter table ledger.batch enable always trigger no_truncate;
alter table ledger.entry enable always trigger no_truncate;
alter table ledger.evidence enable always trigger no_truncate;
alter table ledger.certificates enable always trigger no_truncate;
alter table ledger.held enable always trigger no_truncate;

grant select, insert on all tables in schema ledger to subledger_daemon;

-- What is operated: mutable, backed up, not derivable.

create table operation.customer (
    number bigint primary key,
    id text not null unique
);

create table operation.token (
    number bigint primary key,
    token text not null unique
);

create table operation.api_key (
    id text primary key,
    name text not null,
    digest bytea not null unique,
    roles text[] not null,
    created_at bigint not null,
    revoked_at bigint
);

create table operation.redelivery (
    bucket smallint not null,
    stream text not null,
    event_key text not null,
    copies bigint not null,
    last_at bigint not null,
    primary key (bucket, stream, event_key)
);

create table operation.cursor (
    name text primary key,
    value json not null,
    updated_at bigint not null
);

create table operation.sample (
    digest bytea primary key,
    received_at bigint not null,
    reason text not null,
    detail text not null,
    original bytea not null
);

create table operation.release (
    digest bytea primary key,
    released_at bigint not null,
    position bigint not null
);

create index sample_by_age on operation.sample (received_at);

comment on table operation.customer is 'The backend''s id of a customer, and its number on the record.';
comment on table operation.token is 'An account token, and its number on the record.';
comment on table operation.redelivery is 'Copies of what the record holds: how many, when the last.';
comment on table operation.release is 'Held evidence that was believed later, and where.';
comment on table operation.sample is 'Forgeries, the newest few.';

grant select, insert, update, delete on all tables in schema operation to subledger_daemon;

-- What can be dropped any day.

create table projection.generation (
    projection text not null,
    generation bigint not null,
    edition bigint not null,
    is_live boolean not null,
    checkpoint bigint not null,
    updated_at bigint not null,
    primary key (projection, generation)
);

create table projection.line (
    generation bigint not null,
    bucket smallint not null,
    stream text not null,
    position bigint not null,
    environment text not null,
    original text not null,
    bundle text,
    product_group text,
    state json not null,
    halted text,
    primary key (generation, bucket, stream)
);

create table projection.holding (
    generation bigint not null,
    customer bigint not null,
    bucket smallint not null,
    stream text not null,
    primary key (generation, customer, bucket, stream)
);

create index holding_by_stream on projection.holding (generation, bucket, stream);

create table projection.token_link (
    generation bigint not null,
    token bigint not null,
    customer bigint not null,
    position bigint not null,
    primary key (generation, token, customer)
);

create table projection.customer (
    generation bigint not null,
    customer bigint not null,
    position bigint not null,
    state json not null,
    primary key (generation, customer)
);

create table projection.merge (
    generation bigint not null,
    customer bigint not null,
    into_customer bigint not null,
    primary key (generation, customer, into_customer)
);

create index merge_by_into on projection.merge (generation, into_customer);

create table projection.transaction (
    generation bigint not null,
    environment text not null,
    transaction text not null,
    original text not null,
    primary key (generation, environment, transaction)
);

create index token_link_by_customer on projection.token_link (generation, customer);

grant select, insert, update, delete, truncate on all tables in schema projection
    to subledger_daemon;

-- What all others may read.

create view report.entry as
    select position, kind, stream, revision, environment, subject as customer,
        to_timestamp(occurred_at / 1000.0) as occurred_at,
        to_timestamp(signed_at / 1000.0) as signed_at,
        to_timestamp(observed_at / 1000.0) as observed_at,
        to_timestamp(recorded_at / 1000.0) as recorded_at,
        source, encode(evidence, 'hex') as evidence, body
    from ledger.entry;

comment on view report.entry is 'Every fact on the record, in the order of positions.';
comment on column report.entry.position is 'Its place in the whole ledger, from 1, without gaps.';
comment on column report.entry.kind is 'What the evidence taught when it arrived.';
comment on column report.entry.stream is 'The line, token or setting that it belongs to.';
comment on column report.entry.revision is 'Its place in its stream, from 1.';
comment on column report.entry.environment is 'Production, Sandbox, …; null for commands.';
comment on column report.entry.customer is 'The random number of the customer that it names.';
comment on column report.entry.occurred_at is 'When it happened.';
comment on column report.entry.signed_at is 'When Apple signed it.';
comment on column report.entry.observed_at is 'When it was received.';
comment on column report.entry.recorded_at is 'When it was recorded.';
comment on column report.entry.source is 'Where it came from.';
comment on column report.entry.evidence is 'SHA-256 of the signed text, hex.';
comment on column report.entry.body is 'What it says.';

create view report.line as
    select line.environment, line.original as original_transaction_id, line.bundle as bundle_id,
        line.product_group, line.position, line.halted
    from projection.line
    join projection.generation using (generation)
    where generation.projection = 'subscriptions' and generation.is_live;

comment on view report.line is 'Every chain of purchases, as the live projection holds it.';
comment on column report.line.environment is 'Production, Sandbox, …';
comment on column report.line.original_transaction_id is 'The chain''s first transaction.';
comment on column report.line.bundle_id is 'The app; null while only renewal info is known.';
comment on column report.line.product_group is 'The subscription group.';
comment on column report.line.position is 'The last entry that the line includes.';
comment on column report.line.halted is 'Why the line does not follow the record; null when it does.';

grant select on all tables in schema report to subledger_analyst, subledger_daemon;
