-- 0013_presence
-- What:     how a line began, what was paid for it and when it was there, beside whose it is.
-- Why:      what is asked of persons is in one row of each of their lines: no table of what happened
--           is gone through for it, and nothing is joined.
-- Locks:    projection.tenure and projection.beginning, while columns without a value are added and an
--           index is made.
-- Undo:     alter table projection.tenure drop column first_at, drop column paid_at,
--           drop column has_tried, drop column has_converted, drop column transaction,
--           drop column first_currency, drop column moved_at, drop column amounts,
--           drop column facts, drop column shares, drop column currencies,
--           drop column present_from, drop column present_until, drop column paid_from,
--           drop column paid_until;
--           drop index projection.beginning_by_start;
--           delete from projection.generation where projection = 'metrics';
--           delete from projection.build where projection = 'metrics'.
-- Breaking: no; a daemon built before this migration leaves the projection metrics to newer ones.

alter table projection.tenure
    add column first_at bigint,
    add column paid_at bigint,
    add column has_tried boolean,
    add column has_converted boolean,
    add column transaction text,
    add column first_currency text,
    add column moved_at bigint[],
    add column amounts bigint[],
    add column facts bigint[],
    add column shares bigint[],
    add column currencies text[],
    add column present_from bigint[],
    add column present_until bigint[],
    add column paid_from bigint[],
    add column paid_until bigint[];

comment on column projection.tenure.first_at is
    'When the line''s first period was bought; this and what follows as beginning has it.';
comment on column projection.tenure.moved_at is
    'When money moved: what was paid in order of time, then what went back and came again.';
comment on column projection.tenure.amounts is 'How much each time, in milliunits of currency.';
comment on column projection.tenure.facts is
    'What each was, as a bit of movement.marks; empty: all was paid.';
comment on column projection.tenure.shares is
    'The part that counts, in hundred-thousandths; of what was paid 0; empty: all was paid.';
comment on column projection.tenure.currencies is
    'The currency of each; empty: of all it is first_currency.';
comment on column projection.tenure.present_from is
    'When the line began to cover what is its owner''s own, or was paid for, after a time in which not.';
comment on column projection.tenure.present_until is 'When each of these ended.';
comment on column projection.tenure.paid_from is
    'When what it covered began to count as paid, after a time in which not.';
comment on column projection.tenure.paid_until is 'When each of these ended.';

-- Lines that begin after an instant, of which there are few.
create index beginning_by_start on projection.beginning (generation, start_at);
