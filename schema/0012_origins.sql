-- 0012_origins
-- What:     how a line began, beside what it counts as and what happened to it.
-- Why:      a line that is somebody's only one is summed without looking for whose it is.
-- Locks:    projection.coverage and projection.movement, while columns without a value are added.
-- Undo:     alter table projection.coverage drop column paid_at, drop column first_currency;
--           alter table projection.movement drop column first_at, drop column paid_at,
--           drop column first_currency;
--           delete from projection.generation where projection = 'metrics';
--           delete from projection.build where projection = 'metrics'.
-- Breaking: no; a daemon built before this migration leaves the projection metrics to newer ones.

alter table projection.coverage
    add column paid_at bigint,
    add column first_currency text;
alter table projection.movement
    add column first_at bigint,
    add column paid_at bigint,
    add column first_currency text;

comment on column projection.coverage.paid_at is
    'When something of the line was paid for first, subscription or not; empty: never.';
comment on column projection.coverage.first_currency is
    'The first currency that a period of the line names.';
comment on column projection.movement.first_at is 'When the line''s first period was bought.';
comment on column projection.movement.paid_at is
    'When something of the line was paid for first; empty: never.';
comment on column projection.movement.first_currency is
    'The first currency that a period of the line names.';
