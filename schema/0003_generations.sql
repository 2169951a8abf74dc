-- 0003_generations
-- What:     generations beside the live ones, their finished ranges, streams that halted, who keeps
--           a projection level; a transaction may be named by several lines.
-- Why:      a projection is rebuilt while it serves, can go back, and says what it does not fold.
-- Locks:    projection.transaction while its key is made, about 1 s per million rows.
-- Undo:     drop table projection.build, projection.build_range, projection.halted,
--           projection.keeper.
-- Breaking: no; a daemon built before this migration sees live generations alone, and follows them.

create table projection.build (
    projection text not null,
    generation bigint not null,
    edition bigint not null,
    state text not null,
    purpose text not null,
    target bigint not null,
    checkpoint bigint not null,
    phase text not null,
    entries_done bigint not null,
    workers bigint not null,
    runner text,
    digest text,
    live_digest text,
    failure text,
    started_at bigint not null,
    updated_at bigint not null,
    finished_at bigint,
    primary key (projection, generation),
    check (state in ('building', 'live', 'previous', 'failed', 'discarded')),
    check (purpose in ('replace', 'verify'))
);

create unique index build_at_a_time on projection.build (projection, purpose)
    where state = 'building';

create table projection.build_range (
    projection text not null,
    generation bigint not null,
    first_bucket bigint not null,
    last_bucket bigint not null,
    entries bigint not null,
    primary key (projection, generation, first_bucket)
);

create table projection.halted (
    projection text not null,
    generation bigint not null,
    bucket smallint not null,
    stream text not null,
    position bigint not null,
    reason text not null,
    primary key (projection, generation, bucket, stream)
);

create table projection.keeper (
    projection text primary key,
    keeper text not null
);

comment on table projection.build is
    'Generations that were built: being so, live, kept for the way back, failed.';
comment on column projection.build.target is 'The position that the bulk of it is folded up to.';
comment on column projection.build.runner is 'The process that builds it; empty when none does.';
comment on column projection.build.live_digest is
    'The digest of the generation that was live, at the same position.';
comment on table projection.build_range is 'Buckets whose streams a generation holds, up to its target.';
comment on table projection.halted is 'Streams that do not follow the record, and why.';
comment on table projection.keeper is
    'Which process keeps a projection level: a hint, the checkpoint''s move is the law.';

alter table projection.transaction drop constraint transaction_pkey;
alter table projection.transaction
    add primary key (generation, environment, transaction, original);

grant select, insert, update, delete
    on projection.build, projection.build_range, projection.halted, projection.keeper
    to subledger_daemon;
