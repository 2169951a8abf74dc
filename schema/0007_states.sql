-- 0007_states
-- What:     functions for metrics of states and of how they changed, and what they share.
-- Why:      analysts ask in SQL what the interface answers, with the same numbers.
-- Locks:    none; creates new objects only.
-- Undo:     drop the functions and the aggregate that it makes.
-- Breaking: no; nothing else changes.

create function report.milliseconds(at timestamptz)
returns bigint
language sql immutable parallel safe
as $$
    select (extract(epoch from at) * 1000)::bigint
$$;

comment on function report.milliseconds(timestamptz) is 'An instant as ms since 1970.';

create function report.half_even(numerator numeric, denominator numeric)
returns bigint
language sql immutable parallel safe
as $$
    select (floor + case
        when 2 * (numerator - floor * denominator) > denominator then 1
        when 2 * (numerator - floor * denominator) = denominator and mod(floor, 2) <> 0 then 1
        else 0 end)::bigint
    from (select div(numerator, denominator)
        - case when mod(numerator, denominator) < 0 then 1 else 0 end as floor) as down
$$;

comment on function report.half_even(numeric, numeric) is
    'A fraction of positive denominator rounded to a whole number, a half to the even one.';

create function report.multiplier(plan text, profile text)
returns numeric[]
language sql immutable parallel safe
as $$
    select case
        when plan !~ '^P0*[1-9][0-9]*[DWMY]$' or plan is null then array[1, 1]::numeric[]
        when unit = 'M' then array[1, count]
        when unit = 'Y' then array[1, 12 * count]
        when profile = 'revenuecat' and days = 1 then array[30, 1]::numeric[]
        when profile = 'revenuecat' and days = 3 then array[10, 1]::numeric[]
        when profile = 'revenuecat' then array[28, days]
        when days = 7 then array[52, 12]::numeric[]
        when days = 14 then array[26, 12]::numeric[]
        when days = 28 then array[13, 12]::numeric[]
        else array[365, 12 * days] end
    from (select unit, count, case unit when 'W' then 7 * count else count end as days
        from (select right(plan, 1) as unit,
            coalesce(substring(plan from '^P([0-9]+)')::numeric, 1) as count) as parts) as length
$$;

comment on function report.multiplier(text, text) is
    'What a plan''s price is multiplied by to be a month''s, by profile calendar or '
    'revenuecat: numerator and denominator.';

create aggregate report.common_multiple(numeric) (
    sfunc = lcm, stype = numeric, initcond = '1', parallel = safe
);

comment on aggregate report.common_multiple(numeric) is
    'The least common multiple of whole numbers.';

create function report.active_paid(instant timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id, count(*) from report.coverage
    where kind = 'paid' and from_ms <= report.milliseconds(instant)
        and until_ms > report.milliseconds(instant)
    group by environment, bundle_id
$$;

comment on function report.active_paid(timestamptz) is
    'Lines that a paid or introductory period, or its grace, covers. Columns: environment,'
    ' app, lines.';

create function report.active_trials(instant timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id, count(*) from report.coverage
    where kind = 'trial' and from_ms <= report.milliseconds(instant)
        and until_ms > report.milliseconds(instant)
    group by environment, bundle_id
$$;

comment on function report.active_trials(timestamptz) is
    'Lines that a trial, or the grace after it, covers. Columns: environment, app, lines.';

create function report.active_free(instant timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id, count(*) from report.coverage
    where kind = 'free' and from_ms <= report.milliseconds(instant)
        and until_ms > report.milliseconds(instant)
    group by environment, bundle_id
$$;

comment on function report.active_free(timestamptz) is
    'Lines that a period of price 0 covers which is no trial. Columns: environment, app, '
    'lines.';

create function report.active_family(instant timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id, count(*) from report.coverage
    where kind = 'family' and from_ms <= report.milliseconds(instant)
        and until_ms > report.milliseconds(instant)
    group by environment, bundle_id
$$;

comment on function report.active_family(timestamptz) is
    'Lines that a family member has by sharing. Columns: environment, app, lines.';

create function report.in_grace(instant timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id, count(*) from report.coverage
    where kind in ('paid', 'trial') and is_in_grace and from_ms <= report.milliseconds(instant)
        and until_ms > report.milliseconds(instant)
    group by environment, bundle_id
$$;

comment on function report.in_grace(timestamptz) is
    'Lines that grace alone covers. Columns: environment, app, lines.';

create function report.in_billing_retry(instant timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id, count(*) from report.coverage
    where kind = 'retry' and from_ms <= report.milliseconds(instant)
        and until_ms > report.milliseconds(instant)
    group by environment, bundle_id
$$;

comment on function report.in_billing_retry(timestamptz) is
    'Lines without access that Apple still tries to collect for. Columns: environment, '
    'app, lines.';

create function report.subscription_status(instant timestamptz)
returns table (
    environment text, bundle_id text, set_to_renew bigint, set_to_cancel bigint,
    billing_issue bigint
)
language sql stable parallel safe
as $$
    select environment, bundle_id, count(*) filter (where outlook = 'set_to_renew'),
        count(*) filter (where outlook = 'set_to_cancel'),
        count(*) filter (where outlook = 'billing_issue')
    from report.coverage
    where kind = 'paid' and from_ms <= report.milliseconds(instant)
        and until_ms > report.milliseconds(instant)
    group by environment, bundle_id
$$;

comment on function report.subscription_status(timestamptz) is
    'Paid lines by what follows. Columns: environment, app, lines set to renew, set to '
    'cancel, with a billing issue.';

create function report.mrr(instant timestamptz, profile text default 'calendar')
returns table (environment text, bundle_id text, currency text, value bigint, unpriced bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id, currency,
        report.half_even(
            coalesce(sum(price * times[1] * div(multiple, times[2])), 0), max(multiple)),
        sum(unpriced)::bigint
    from (
        select *, report.common_multiple(times[2])
            over (partition by environment, bundle_id, currency) as multiple
        from (
            select environment, bundle_id, currency, plan, sum(price_milliunits) as price,
                count(*) filter (where price_milliunits is null) as unpriced
            from report.coverage
            where kind = 'paid' and from_ms <= report.milliseconds(instant)
                and until_ms > report.milliseconds(instant)
            group by environment, bundle_id, currency, plan
        ) as plans
        cross join lateral (select report.multiplier(plan, profile) as times) as factor
    ) as parts
    group by environment, bundle_id, currency
$$;

comment on function report.mrr(timestamptz, text) is
    'Monthly recurring revenue of an instant. Columns: environment, app, currency, '
    'milliunits a month, rounded once, half to even; lines counted with 0 because their '
    'price is not known.';

create function report.arr(instant timestamptz, profile text default 'calendar')
returns table (environment text, bundle_id text, currency text, value bigint, unpriced bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id, currency,
        report.half_even(
            coalesce(sum(12 * price * times[1] * div(multiple, times[2])), 0), max(multiple)),
        sum(unpriced)::bigint
    from (
        select *, report.common_multiple(times[2])
            over (partition by environment, bundle_id, currency) as multiple
        from (
            select environment, bundle_id, currency, plan, sum(price_milliunits) as price,
                count(*) filter (where price_milliunits is null) as unpriced
            from report.coverage
            where kind = 'paid' and from_ms <= report.milliseconds(instant)
                and until_ms > report.milliseconds(instant)
            group by environment, bundle_id, currency, plan
        ) as plans
        cross join lateral (select report.multiplier(plan, profile) as times) as factor
    ) as parts
    group by environment, bundle_id, currency
$$;

comment on function report.arr(timestamptz, text) is
    'Twelve times monthly recurring revenue, rounded once. Columns: environment, app, '
    'currency, milliunits a year, lines without a known price.';

create function report.mrr_daily(first date, last date, profile text default 'calendar')
returns table (
    day date, environment text, bundle_id text, currency text, value bigint, unpriced bigint
)
language sql stable parallel safe
as $$
    select days.day::date, mrr.*
    from generate_series(first::timestamp, last::timestamp, interval '1 day') as days (day)
    cross join lateral report.mrr(
        (days.day + interval '1 day') at time zone 'UTC', profile) as mrr
$$;

comment on function report.mrr_daily(date, date, text) is
    'Monthly recurring revenue as each UTC day ends. Columns: day, environment, app, '
    'currency, milliunits a month, lines without a known price.';

create function report.churned(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, reason text, value bigint)
language sql stable parallel safe
as $$
    with old as (
        select * from report.coverage where kind = 'paid'
            and from_ms <= report.milliseconds(since) and until_ms > report.milliseconds(since)
    ), new as (
        select * from report.coverage where kind = 'paid'
            and from_ms <= report.milliseconds(before) and until_ms > report.milliseconds(before)
    )
    select old.environment, old.bundle_id, old.reason, count(*)
    from old left join new using (environment, original_transaction_id)
    where new.kind is null and old.is_ended
    group by old.environment, old.bundle_id, old.reason
$$;

comment on function report.churned(timestamptz, timestamptz) is
    'Lines paid at the start of the window and not at its end. Columns: environment, app, '
    'reason, lines.';

create function report.churn_rate(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, value numeric)
language sql stable parallel safe
as $$
    with old as (
        select * from report.coverage where kind = 'paid'
            and from_ms <= report.milliseconds(since) and until_ms > report.milliseconds(since)
    ), new as (
        select * from report.coverage where kind = 'paid'
            and from_ms <= report.milliseconds(before) and until_ms > report.milliseconds(before)
    )
    select old.environment, old.bundle_id, report.half_even(
        1000000 * count(*) filter (where new.kind is null and old.is_ended), count(*))
        / 1000000.0
    from old left join new using (environment, original_transaction_id)
    group by old.environment, old.bundle_id
$$;

comment on function report.churn_rate(timestamptz, timestamptz) is
    'churned divided by active_paid at the start. Columns: environment, app, ratio to six '
    'decimals.';

create function report.reactivated(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    with old as (
        select * from report.coverage where kind = 'paid'
            and from_ms <= report.milliseconds(since) and until_ms > report.milliseconds(since)
    ), new as (
        select * from report.coverage where kind = 'paid'
            and from_ms <= report.milliseconds(before) and until_ms > report.milliseconds(before)
    )
    select new.environment, new.bundle_id, count(*)
    from new left join old using (environment, original_transaction_id)
    where old.kind is null and new.first_paid_ms < report.milliseconds(since)
    group by new.environment, new.bundle_id
$$;

comment on function report.reactivated(timestamptz, timestamptz) is
    'Lines paid at the end, not at the start, that were paid for before. Columns: '
    'environment, app, lines.';

create function report.mrr_movement(
    since timestamptz, before timestamptz, profile text default 'calendar'
)
returns table (
    environment text, bundle_id text, currency text, new bigint, reactivation bigint,
    expansion bigint, contraction bigint, churn bigint
)
language sql stable parallel safe
as $$
    with old as (
        select * from report.coverage where kind = 'paid'
            and from_ms <= report.milliseconds(since) and until_ms > report.milliseconds(since)
    ), new as (
        select * from report.coverage where kind = 'paid'
            and from_ms <= report.milliseconds(before) and until_ms > report.milliseconds(before)
    )
    , moved as (
        select coalesce(new.environment, old.environment) as environment,
            coalesce(new.bundle_id, old.bundle_id) as bundle_id, side.currency, side.member,
            side.price, report.multiplier(side.plan, profile) as times
        from old full join new using (environment, original_transaction_id)
        cross join lateral (values
            (1, new.currency, new.price_milliunits, new.plan, case
                when old.kind is null and new.first_paid_ms < report.milliseconds(since)
                    then 'reactivation'
                when old.kind is null then 'new'
                when old.currency is distinct from new.currency then 'expansion'
                else 'change' end),
            (-1, old.currency, old.price_milliunits, old.plan, case
                when new.kind is null then 'churn'
                when old.currency is distinct from new.currency then 'contraction'
                else 'change' end)
        ) as side (sign, currency, price, plan, member)
        where (side.sign = 1 and new.kind is not null or side.sign = -1 and old.kind is not null)
            and side.price is not null and side.member <> 'change'
        union all
        select coalesce(new.environment, old.environment), new.bundle_id, new.currency,
            case when change < 0 then 'contraction' else 'expansion' end, abs(change),
            array[1, was[2] * willbe[2]]
        from old join new using (environment, original_transaction_id)
        cross join lateral (select report.multiplier(old.plan, profile) as was,
            report.multiplier(new.plan, profile) as willbe) as factor
        cross join lateral (select coalesce(new.price_milliunits, 0) * willbe[1] * was[2]
            - coalesce(old.price_milliunits, 0) * was[1] * willbe[2] as change) as difference
        where old.currency is not distinct from new.currency and change <> 0
    ), scaled as (
        select *, report.common_multiple(times[2])
            over (partition by environment, bundle_id, currency) as multiple
        from moved
    )
    select environment, bundle_id, currency, amounts.*
    from (
        select environment, bundle_id, currency, max(multiple) as multiple,
            coalesce(sum(price * times[1] * div(multiple, times[2]))
                filter (where member = 'new'), 0) as new,
            coalesce(sum(price * times[1] * div(multiple, times[2]))
                filter (where member = 'reactivation'), 0) as reactivation,
            coalesce(sum(price * times[1] * div(multiple, times[2]))
                filter (where member = 'expansion'), 0) as expansion,
            coalesce(sum(price * times[1] * div(multiple, times[2]))
                filter (where member = 'contraction'), 0) as contraction,
            coalesce(sum(price * times[1] * div(multiple, times[2]))
                filter (where member = 'churn'), 0) as churn
        from scaled group by environment, bundle_id, currency
    ) as sums
    cross join lateral (select report.half_even(new, multiple),
        report.half_even(reactivation, multiple), report.half_even(expansion, multiple),
        report.half_even(contraction, multiple), report.half_even(churn, multiple)) as amounts
$$;

comment on function report.mrr_movement(timestamptz, timestamptz, text) is
    'How each line''s part of mrr changed from start to end of the window. Columns: '
    'environment, app, currency, milliunits of new, reactivation, expansion, contraction, '
    'churn.';

revoke execute on all functions in schema report from public;
grant execute on all functions in schema report to subledger_analyst, subledger_daemon;
