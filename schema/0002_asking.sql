-- 0002_asking
-- What:     how far Apple's server API was asked: histories, notifications, single lines.
-- Why:      asking goes on where it stopped, and no line is asked about too often.
-- Locks:    none; creates new objects only.
-- Undo:     drop table operation.history_cursor, operation.comparison, operation.inquiry.
-- Breaking: no; a daemon that runs meanwhile is not disturbed.

create table operation.history_cursor (
    bundle text not null,
    environment text not null,
    asked text not null,
    revision text not null,
    updated_at bigint not null,
    primary key (bundle, environment, asked)
);

create table operation.comparison (
    bundle text not null,
    environment text not null,
    begun_at bigint not null,
    compared_to bigint,
    primary key (bundle, environment)
);

create table operation.inquiry (
    bucket smallint not null,
    stream text not null,
    times bigint not null,
    asked_at bigint not null,
    next_at bigint not null,
    primary key (bucket, stream)
);

comment on table operation.history_cursor is
    'The revision of the last page of a customer''s history that is on the record.';
comment on column operation.history_cursor.asked is 'The transaction id that was asked with.';
comment on table operation.comparison is
    'How far the record was compared with the history of notifications.';
comment on column operation.comparison.begun_at is 'When the last one began, ms since 1970.';
comment on column operation.comparison.compared_to is
    'All notifications before it are on the record, ms since 1970.';
comment on table operation.inquiry is 'Lines in doubt that were asked about, and when next.';

grant select, insert, update, delete
    on operation.history_cursor, operation.comparison, operation.inquiry to subledger_daemon;
