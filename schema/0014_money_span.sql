-- 0014_money_span
-- What:     when money moved first and last, beside when it moved each time.
-- Why:      a line whose money lies outside what is asked about is passed over without its arrays.
-- Locks:    projection.tenure, while columns without a value are added.
-- Undo:     alter table projection.tenure drop column moved_from, drop column moved_until;
--           delete from projection.generation where projection = 'metrics';
--           delete from projection.build where projection = 'metrics'.
-- Breaking: no; a daemon built before this migration leaves the projection metrics to newer ones.

alter table projection.tenure
    add column moved_from bigint,
    add column moved_until bigint;

comment on column projection.tenure.moved_from is
    'When money moved first, to or fro; empty: never.';
comment on column projection.tenure.moved_until is 'When it moved last.';
