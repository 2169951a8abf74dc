-- 0008_flows
-- What:     functions for metrics of what happened in a window.
-- Why:      analysts ask in SQL what the interface answers, with the same numbers.
-- Locks:    none; creates new objects only.
-- Undo:     drop the functions that it makes.
-- Breaking: no; nothing else changes.

create function report.new_paid(since timestamptz, before timestamptz)
returns table (
    environment text, bundle_id text, value bigint, from_trial bigint, from_intro bigint,
    direct bigint
)
language sql stable parallel safe
as $$
    select environment, bundle_id,
        count(*) filter (where fact in (
            'first_paid_after_trial', 'first_paid_as_intro', 'first_paid_directly')),
        count(*) filter (where fact in ('first_paid_after_trial')),
        count(*) filter (where fact in ('first_paid_as_intro')),
        count(*) filter (where fact in ('first_paid_directly'))
    from report.movement
    where fact in ('first_paid_after_trial', 'first_paid_as_intro', 'first_paid_directly')
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id
$$;

comment on function report.new_paid(timestamptz, timestamptz) is
    'Lines whose first paid or introductory period starts in the window. Columns: '
    'environment, app, value, from_trial, from_intro, direct.';

create function report.renewals(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id,
        count(*) filter (where fact in ('renewed'))
    from report.movement
    where fact in ('renewed')
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id
$$;

comment on function report.renewals(timestamptz, timestamptz) is
    'Paid periods, not the first, that follow without a gap or by recovery. Columns: '
    'environment, app, value.';

create function report.reactivation_purchases(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id,
        count(*) filter (where fact in ('bought_again'))
    from report.movement
    where fact in ('bought_again')
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id
$$;

comment on function report.reactivation_purchases(timestamptz, timestamptz) is
    'Paid periods bought again after a gap. Columns: environment, app, value.';

create function report.plan_changes(since timestamptz, before timestamptz)
returns table (
    environment text, bundle_id text, upgrade bigint, downgrade bigint, crossgrade bigint
)
language sql stable parallel safe
as $$
    select environment, bundle_id,
        count(*) filter (where fact in ('upgraded')),
        count(*) filter (where fact in ('downgraded')),
        count(*) filter (where fact in ('crossgraded'))
    from report.movement
    where fact in ('crossgraded', 'downgraded', 'upgraded')
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id
$$;

comment on function report.plan_changes(timestamptz, timestamptz) is
    'Changes to another product, at the start of its first period. Columns: environment, '
    'app, upgrade, downgrade, crossgrade.';

create function report.upgrade_credit_unknown(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id,
        count(*) filter (where fact in ('credit_unknown'))
    from report.movement
    where fact in ('credit_unknown')
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id
$$;

comment on function report.upgrade_credit_unknown(timestamptz, timestamptz) is
    'Upgrades within a paid period, whose credit Apple does not say. Columns: environment,'
    ' app, value.';

create function report.grace_entered(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id,
        count(*) filter (where fact in ('grace_entered'))
    from report.movement
    where fact in ('grace_entered')
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id
$$;

comment on function report.grace_entered(timestamptz, timestamptz) is
    'Episodes of grace that begin in the window. Columns: environment, app, value.';

create function report.recovered_in_grace(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id,
        count(*) filter (where fact in ('recovered_in_grace'))
    from report.movement
    where fact in ('recovered_in_grace')
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id
$$;

comment on function report.recovered_in_grace(timestamptz, timestamptz) is
    'Recoveries before grace was over. Columns: environment, app, value.';

create function report.recovered_after_gap(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id,
        count(*) filter (where fact in ('recovered_after_gap'))
    from report.movement
    where fact in ('recovered_after_gap')
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id
$$;

comment on function report.recovered_after_gap(timestamptz, timestamptz) is
    'Recoveries after access had been lost. Columns: environment, app, value.';

create function report.lost_in_retry(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id,
        count(*) filter (where fact in ('lost_in_retry'))
    from report.movement
    where fact in ('lost_in_retry')
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id
$$;

comment on function report.lost_in_retry(timestamptz, timestamptz) is
    'Episodes of billing retry that end in the window without recovery. Columns: '
    'environment, app, value.';

create function report.preference_changes(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id,
        count(*) filter (where fact in ('preference_changed'))
    from report.movement
    where fact in ('preference_changed')
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id
$$;

comment on function report.preference_changes(timestamptz, timestamptz) is
    'Changes of auto-renewal or of the product that renews. Columns: environment, app, '
    'value.';

create function report.trials_started(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id,
        count(*) filter (where fact in ('first_trial_began'))
    from report.movement
    where fact in ('first_trial_began')
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id
$$;

comment on function report.trials_started(timestamptz, timestamptz) is
    'First trials of lines that start in the window. Columns: environment, app, value.';

create function report.trial_conversion(
    since timestamptz, before timestamptz, known_at timestamptz default now()
)
returns table (
    environment text, bundle_id text, trials bigint, converted bigint, pending bigint,
    abandoned bigint, late_conversion bigint
)
language sql stable parallel safe
as $$
    select environment, bundle_id,
        count(*) filter (where fact in ('trial_began')),
        count(*) filter (where fact in ('trial_converts')),
        count(*) filter (where fact in ('trial_is_pending')),
        count(*) filter (where fact in ('trial_is_abandoned')),
        count(*) filter (where fact in ('trial_converts_late'))
    from report.movement
    where fact in (
    'trial_began', 'trial_converts', 'trial_converts_late', 'trial_is_abandoned',
    'trial_is_pending'
)
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
        and known_from_ms <= report.milliseconds(known_at)
        and known_until_ms > report.milliseconds(known_at)
    group by environment, bundle_id
$$;

comment on function report.trial_conversion(timestamptz, timestamptz, timestamptz) is
    'What became of the trials that start in the window, by an instant of knowledge. '
    'Columns: environment, app, trials, converted, pending, abandoned, late_conversion.';

create function report.refund_reversals(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id,
        count(*) filter (where fact in ('reversed'))
    from report.movement
    where fact in ('reversed')
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id
$$;

comment on function report.refund_reversals(timestamptz, timestamptz) is
    'Refunds that were taken back, by the reversal''s signing. Columns: environment, app, '
    'value.';

create function report.refund_rate(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, refunded bigint, transactions bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id,
        count(*) filter (where fact in ('refundable_was_refunded')),
        count(*) filter (where fact in ('refundable'))
    from report.movement
    where fact in ('refundable', 'refundable_was_refunded')
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id
$$;

comment on function report.refund_rate(timestamptz, timestamptz) is
    'Paid purchases of the window, and those of them that are refunded now. Columns: '
    'environment, app, refunded, transactions.';

create function report.trials_movement(
    since timestamptz, before timestamptz, known_at timestamptz default now()
)
returns table (
    environment text, bundle_id text, value bigint, started bigint, converted bigint,
    lapsed bigint
)
language sql stable parallel safe
as $$
    select environment, bundle_id, sum(case fact when 'trial_began' then 1 else -1 end)::bigint,
        count(*) filter (where fact = 'trial_began'),
        count(*) filter (where fact = 'trial_converted'),
        count(*) filter (where fact = 'trial_lapsed')
    from report.movement
    where fact in ('trial_began', 'trial_converted', 'trial_lapsed')
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
        and known_from_ms <= report.milliseconds(known_at)
        and known_until_ms > report.milliseconds(known_at)
    group by environment, bundle_id
$$;

comment on function report.trials_movement(timestamptz, timestamptz, timestamptz) is
    'Trials started less those that converted or lapsed in the window. Columns: '
    'environment, app, value, started, converted, lapsed.';

create function report.extensions(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, value bigint, days bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id, count(*), sum(amount)::bigint
    from report.movement
    where fact = 'extended'
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id
$$;

comment on function report.extensions(timestamptz, timestamptz) is
    'Times that a period''s end was put off, and the days given. Columns: environment, app,'
    ' value, days.';

create function report.refunds_happened(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, currency text, value bigint, amount bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id, currency, count(*),
        report.half_even(coalesce(sum(amount::numeric * share), 0), 100000)
    from report.movement
    where fact = 'refunded'
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id, currency
$$;

comment on function report.refunds_happened(timestamptz, timestamptz) is
    'Refunds by their revocation''s instant. Columns: environment, app, currency, number, '
    'milliunits.';

create function report.revenue(
    since timestamptz, before timestamptz, basis text default 'as_transacted'
)
returns table (
    environment text, bundle_id text, currency text, gross bigint, refunded bigint,
    reversed bigint, net bigint
)
language sql stable parallel safe
as $$
    select environment, bundle_id, currency, report.half_even(paid, 100000),
        report.half_even(back, 100000), report.half_even(again, 100000),
        report.half_even(paid - back + again, 100000)
    from (
        select environment, bundle_id, currency,
            coalesce(sum(100000 * amount::numeric) filter (where fact = 'paid'), 0) as paid,
            coalesce(sum(amount::numeric * share)
                filter (where fact in ('refunded', 'taken_out')), 0) as back,
            coalesce(sum(amount::numeric * share) filter (where fact = 'reversed'), 0) as again
        from report.movement
        where fact = any(case basis when 'restated' then array['paid', 'taken_out']
            else array['paid', 'refunded', 'reversed'] end) and amount is not null
            and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
        group by environment, bundle_id, currency
    ) as sums
$$;

comment on function report.revenue(timestamptz, timestamptz, text) is
    'Money of purchases, refunds and reversals, by basis as_transacted or restated. '
    'Columns: environment, app, currency, milliunits of gross, refunded, reversed, net.';

revoke execute on all functions in schema report from public;
grant execute on all functions in schema report to subledger_analyst, subledger_daemon;
