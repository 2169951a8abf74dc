-- 0002_asking
-- What:     how far Apple's server API was asked: histories, notifications, single lines; and
--           which lines are in doubt.
-- Why:      asking goes on where it stopped, no line is asked about too often, and those that
--           must be are found without a look at the others.
-- Locks:    projection.line, while columns without a value are added.
-- Undo:     drop table operation.history_cursor, operation.comparison, operation.inquiry;
--           alter table projection.line drop column doubt, drop column doubt_from.
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

alter table projection.line add column doubt text, add column doubt_from bigint;

create index line_in_doubt
    on projection.line (generation, bundle, environment, doubt_from, bucket, stream)
    where doubt is not null;

comment on column projection.line.doubt is
    'What must have happened and was not said: overdue, successor_missing.';
comment on column projection.line.doubt_from is 'Since when that is in doubt, ms since 1970.';
