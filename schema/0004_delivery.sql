-- 0004_delivery
-- What:     outgoing events with numbers of their own, timers, webhooks and their deliveries.
-- Why:      what leaves the ledger is sent once, in order, whatever happens to the sender.
-- Locks:    none; creates new objects only.
-- Undo:     drop table operation.event, operation.follow, operation.timer, operation.webhook,
--           operation.delivery.
-- Breaking: no; a daemon built before this migration runs on.

create table operation.follow (
    name text primary key,
    position bigint not null,
    number bigint not null,
    updated_at bigint not null
);

create table operation.event (
    number bigint primary key,
    position bigint not null,
    kind text not null,
    stream text not null,
    environment text,
    customer bigint,
    counterpart bigint,
    is_gain boolean not null,
    occurred_at bigint not null,
    is_timed boolean not null,
    made_at bigint not null,
    body json not null
);

create unique index event_by_instant on operation.event (stream, kind, occurred_at)
    where is_timed;
create index event_by_position on operation.event (position);
create index event_by_stream on operation.event (stream, number);
create index event_by_customer on operation.event (customer, number) where customer is not null;

create table operation.timer (
    stream text not null,
    kind text not null,
    instant bigint not null,
    primary key (stream, kind, instant)
);

create index timer_by_instant on operation.timer (instant);

create table operation.webhook (
    name text primary key,
    url text not null,
    from_position bigint not null,
    queued bigint not null,
    delivered bigint not null,
    failures bigint not null,
    delivered_at bigint,
    failed_at bigint,
    last_error text
);

create table operation.delivery (
    webhook text not null,
    number bigint not null,
    stream text not null,
    is_parked boolean not null,
    attempts bigint not null,
    first_at bigint,
    next_at bigint not null,
    claimed_until bigint not null,
    last_error text,
    primary key (webhook, number)
);

create index delivery_by_stream on operation.delivery (webhook, stream, number)
    where not is_parked;
create index delivery_by_time on operation.delivery (webhook, next_at, number)
    where not is_parked;
create index delivery_parked on operation.delivery (webhook, number) where is_parked;

comment on table operation.follow is
    'How far the record was turned into outgoing events: last position, last number.';
comment on table operation.event is
    'What leaves the ledger, numbered without gaps: entries told, and what time alone did.';
comment on column operation.event.position is
    'The entry that it tells, or the last entry that was known when time made it.';
comment on column operation.event.counterpart is
    'Whom something went to, or came from, when the event tells of that.';
comment on column operation.event.is_gain is 'Whether it came from the counterpart.';
comment on column operation.event.body is
    'The event as the interface writes it, without number and names of customers.';
comment on table operation.timer is
    'When time alone will end access or grace of a line: each makes one event, once.';
comment on table operation.webhook is
    'Where events are sent to: what is queued, how it went. Events up to from_position are not sent.';
comment on table operation.delivery is
    'Events that a webhook has not taken yet, or that were given up: parked.';

grant select, insert, update, delete on operation.follow, operation.event, operation.timer,
    operation.webhook, operation.delivery to subledger_daemon;
