-- 0011_cohorts
-- What:     functions for metrics of customers and of cohorts.
-- Why:      analysts ask in SQL what the interface answers, with the same numbers.
-- Locks:    none; creates new objects only.
-- Undo:     drop the functions that it makes.
-- Breaking: no; nothing else changes.

create function report.active_customers(instant timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
set enable_nestloop = off
as $$
    select environment, bundle_id, count(distinct customer)
    from report.coverage
    join report.owner(instant) using (environment, bundle_id, original_transaction_id)
    where kind = 'paid' and from_ms <= report.milliseconds(instant)
        and until_ms > report.milliseconds(instant)
    group by environment, bundle_id
$$;

comment on function report.active_customers(timestamptz) is
    'Customers with a paid line. Columns: environment, app, customers.';

create function report.unattributed_lines(instant timestamptz)
returns table (environment text, bundle_id text, value bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id, count(*) from report.tenure
    where customer is null and from_ms <= report.milliseconds(instant)
        and until_ms > report.milliseconds(instant)
    group by environment, bundle_id
$$;

comment on function report.unattributed_lines(timestamptz) is
    'Lines that have begun and are nobody''s. Columns: environment, app, lines.';

create function report.active_promo(instant timestamptz)
returns table (value bigint)
language sql stable parallel safe
as $$
    select count(*) from report.granted
    where from_ms <= report.milliseconds(instant)
        and (until_ms is null or until_ms > report.milliseconds(instant))
$$;

comment on function report.active_promo(timestamptz) is 'Grants in force. Column: grants.';

create function report.conversion_to_paying(
    since timestamptz, before timestamptz, days bigint default 7,
    known_at timestamptz default now()
)
returns table (
    environment text, bundle_id text, customers bigint, converted bigint, pending bigint
)
language sql stable parallel safe
set enable_nestloop = off
as $$
    select environment, bundle_id, count(*), count(*) filter (where in_time),
        count(*) filter (where not in_time
            and report.utc_day(report.milliseconds(known_at)) - report.utc_day(first_ms) <= days)
    from (
        select *, coalesce(report.utc_day(paid_ms) - report.utc_day(first_ms) <= days, false)
            as in_time
        from report.person(known_at)
        where is_first and first_ms >= report.milliseconds(since)
            and first_ms < report.milliseconds(before)
    ) as cohort
    group by environment, bundle_id
$$;

comment on function report.conversion_to_paying(timestamptz, timestamptz, bigint, timestamptz) is
    'Customers first seen in the window, those who paid by a day counted from 0, and those who '
    'still may. Columns: environment, app, customers, converted, pending.';

create function report.trial_conversion_by_first_seen(
    since timestamptz, before timestamptz, known_at timestamptz default now()
)
returns table (
    environment text, bundle_id text, customers bigint, trials bigint, converted bigint
)
language sql stable parallel safe
set enable_nestloop = off
as $$
    select environment, bundle_id, count(*), count(*) filter (where has_tried),
        count(*) filter (where has_converted)
    from report.person(known_at)
    where is_first and first_ms >= report.milliseconds(since)
        and first_ms < report.milliseconds(before)
    group by environment, bundle_id
$$;

comment on function report.trial_conversion_by_first_seen(timestamptz, timestamptz, timestamptz) is
    'Customers first seen in the window, those who ever tried, and those who converted. Columns: '
    'environment, app, customers, trials, converted.';

create function report.person_average(
    since timestamptz, before timestamptz, basis text, known_at timestamptz, only_payers boolean
)
returns table (
    environment text, bundle_id text, currency text, value bigint, net bigint, persons bigint
)
language sql stable parallel safe
set enable_nestloop = off
as $$
    with moved as (
        select * from report.person_money(basis, known_at)
        where at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    ), active as (
        select environment, bundle_id, person from moved where is_purchase
        union
        select environment, bundle_id, person from report.coverage
        join report.person(known_at) using (environment, bundle_id, original_transaction_id)
        where not only_payers and kind in ('paid', 'trial', 'free')
            and from_ms < report.milliseconds(before) and until_ms > report.milliseconds(since)
    ), told as (
        select environment, bundle_id, currency, sum(hundred_thousandths) as net, 0 as persons
        from moved group by environment, bundle_id, currency
        union all
        select environment, bundle_id, currency, 0, count(*) from report.person(known_at)
        join active using (environment, bundle_id, person)
        where is_first group by environment, bundle_id, currency
    )
    select environment, bundle_id, currency,
        case when sum(persons) > 0 then report.half_even(sum(net), 100000 * sum(persons)) end,
        report.half_even(sum(net), 100000), sum(persons)::bigint
    from told group by environment, bundle_id, currency
$$;

comment on function report.person_average(timestamptz, timestamptz, text, timestamptz, boolean) is
    'Net per person who paid in the window, or was covered then, too. Columns: environment, app, '
    'currency, milliunits per person, milliunits of net, persons.';

create function report.arppu(
    since timestamptz, before timestamptz, basis text default 'as_transacted',
    known_at timestamptz default now()
)
returns table (
    environment text, bundle_id text, currency text, value bigint, net bigint, payers bigint
)
language sql stable parallel safe
as $$
    select * from report.person_average(since, before, basis, known_at, true)
$$;

comment on function report.arppu(timestamptz, timestamptz, text, timestamptz) is
    'Net per customer who paid in the window. Columns: environment, app, currency, milliunits per '
    'payer, milliunits of net, payers.';

create function report.arpu(
    since timestamptz, before timestamptz, basis text default 'as_transacted',
    known_at timestamptz default now()
)
returns table (
    environment text, bundle_id text, currency text, value bigint, net bigint, customers bigint
)
language sql stable parallel safe
as $$
    select * from report.person_average(since, before, basis, known_at, false)
$$;

comment on function report.arpu(timestamptz, timestamptz, text, timestamptz) is
    'Net per customer who was covered or paid in the window. Columns: environment, app, currency, '
    'milliunits per customer, milliunits of net, customers.';

create function report.realised_ltv(
    since timestamptz, before timestamptz, days bigint default 30,
    basis text default 'as_transacted', known_at timestamptz default now()
)
returns table (
    environment text, bundle_id text, currency text, age bigint, per_customer bigint,
    per_paying_customer bigint, net bigint, customers bigint, payers bigint, mature bigint
)
language sql stable parallel safe
set enable_nestloop = off
as $$
    with limits as (
        select report.milliseconds(since) as low, report.milliseconds(before) as high,
            report.utc_day(report.milliseconds(known_at)) as today,
            least(greatest(report.utc_day(report.milliseconds(known_at))
                - report.utc_day(report.milliseconds(since)), 0) / days, 120) as ages
    ), cohort as (
        select person.*, today, ages, (today - report.utc_day(first_ms)) / days as reached,
            (greatest(report.utc_day(paid_ms) - report.utc_day(first_ms), 0) + days - 1) / days
                as paid_age
        from report.person(known_at), limits
        where is_first and first_ms >= low and first_ms < high
    ), told as (
        select environment, bundle_id, currency, 0::bigint as age, count(*) as customers,
            0::bigint as payers, 0::numeric as net, 0::bigint as mature
        from cohort group by environment, bundle_id, currency
        union all
        select environment, bundle_id, currency, age, 0, 0, 0, count(*)
        from cohort cross join lateral generate_series(0, least(reached, ages)) as age
        where today >= report.utc_day(first_ms)
        group by environment, bundle_id, currency, age
        union all
        select environment, bundle_id, currency, paid_age, 0, count(*), 0, 0
        from cohort where paid_ms is not null and paid_age <= ages
        group by environment, bundle_id, currency, paid_age
        union all
        select environment, bundle_id, currency, age, 0, 0, sum(hundred_thousandths), 0
        from report.person_money(basis, known_at), limits
        cross join lateral (select
            (greatest(report.utc_day(at_ms) - report.utc_day(first_ms), 0) + days - 1) / days as age)
            as told_at
        where first_ms >= low and first_ms < high and age <= ages
        group by environment, bundle_id, currency, age
    ), filled as (
        select environment, bundle_id, currency, age, customers, payers, net, mature from told
        union all
        select environment, bundle_id, currency, age, 0, 0, 0, 0
        from (select environment, bundle_id, currency, max(age) as last from told
            group by environment, bundle_id, currency) as ends
        cross join lateral generate_series(0, last) as age
    ), running as (
        select environment, bundle_id, currency, age, sum(mature)::bigint as mature,
            (sum(sum(customers)) over so_far)::bigint as customers,
            (sum(sum(payers)) over so_far)::bigint as payers, sum(sum(net)) over so_far as net
        from filled group by environment, bundle_id, currency, age
        window so_far as (partition by environment, bundle_id, currency order by age)
    )
    select environment, bundle_id, currency, age * days,
        case when customers > 0 then report.half_even(net, 100000 * customers) end,
        case when payers > 0 then report.half_even(net, 100000 * payers) end,
        report.half_even(net, 100000), customers, payers, mature
    from running
$$;

comment on function report.realised_ltv(timestamptz, timestamptz, bigint, text, timestamptz) is
    'Net of customers first seen in the window by their age in steps of days, cumulated. Columns: '
    'environment, app, currency, age in days, milliunits per customer, per payer, of net, '
    'customers, payers, customers who have reached the age.';

create function report.cohort_explorer(
    since timestamptz, before timestamptz, days bigint default 30,
    basis text default 'as_transacted', known_at timestamptz default now()
)
returns table (
    environment text, bundle_id text, currency text, age bigint, customers bigint,
    retained bigint, revenue bigint, refunds bigint
)
language sql stable parallel safe
set enable_nestloop = off
as $$
    with limits as (
        select report.milliseconds(since) as low, report.milliseconds(before) as high,
            report.milliseconds(known_at) as known, days * 86400000 as step,
            report.utc_day(report.milliseconds(known_at)) as today,
            least(greatest(report.utc_day(report.milliseconds(known_at))
                - report.utc_day(report.milliseconds(since)), 0) / days, 120) as ages
    ), told as (
        select environment, bundle_id, currency, age, count(*) as customers,
            0::bigint as retained, 0::numeric as revenue, 0::numeric as refunds
        from report.person(known_at), limits
        cross join lateral generate_series(
            0, least((today - report.utc_day(paid_ms)) / days, ages)) as age
        where is_first and paid_ms >= low and paid_ms < high and today >= report.utc_day(paid_ms)
        group by environment, bundle_id, currency, age
        union all
        select environment, bundle_id, person.currency, age, 0, count(distinct person), 0, 0
        from report.coverage
        join report.person(known_at) using (environment, bundle_id, original_transaction_id)
        cross join limits
        cross join lateral generate_series(
            (greatest(from_ms - paid_ms, 0) + step - 1) / step,
            least((until_ms - 1 - paid_ms) / step, (known - paid_ms) / step, ages)) as age
        where kind = 'paid' and paid_ms >= low and paid_ms < high and until_ms > paid_ms
            and paid_ms <= known
        group by environment, bundle_id, person.currency, age
        union all
        select environment, bundle_id, currency, age, 0, 0,
            coalesce(sum(hundred_thousandths) filter (where is_purchase), 0),
            coalesce(-sum(hundred_thousandths) filter (where not is_purchase), 0)
        from report.person_money(basis, known_at), limits
        cross join lateral (select
            (report.utc_day(at_ms) - report.utc_day(paid_ms)) / days as age) as told_at
        where paid_ms >= low and paid_ms < high
            and report.utc_day(at_ms) >= report.utc_day(paid_ms) and age <= ages
        group by environment, bundle_id, currency, age
    )
    select environment, bundle_id, currency, age * days, sum(customers)::bigint,
        sum(retained)::bigint, report.half_even(sum(revenue), 100000),
        report.half_even(sum(refunds), 100000)
    from told group by environment, bundle_id, currency, age
$$;

comment on function report.cohort_explorer(timestamptz, timestamptz, bigint, text, timestamptz) is
    'Customers who first paid in the window by their age in steps of days. Columns: environment, '
    'app, currency, age in days, customers who reached it, those then paid for, milliunits of '
    'revenue and of refunds at that age.';

create function report.subscription_retention(
    since timestamptz, before timestamptz, known_at timestamptz default now()
)
returns table (
    environment text, bundle_id text, plan text, period bigint, retained bigint, lines bigint
)
language sql stable parallel safe
as $$
    select environment, bundle_id, plan, period, count(*) filter (where is_retained),
        count(*) filter (where is_retained or is_old_enough)
    from (
        select environment, bundle_id, plan, period, period = any(periods) as is_retained,
            (timestamp '1970-01-01' + first_ms * interval '1 millisecond'
                + (period - 1) * case when plan ~ '^P0*[1-9][0-9]*[DWMY]$' then plan::interval
                    else interval '1 month' end)
                <= known_at at time zone 'UTC' as is_old_enough
        from report.retention cross join lateral generate_series(1, 120) as period
        where first_ms >= report.milliseconds(since) and first_ms < report.milliseconds(before)
    ) as reached
    where is_retained or is_old_enough
    group by environment, bundle_id, plan, period
$$;

comment on function report.subscription_retention(timestamptz, timestamptz, timestamptz) is
    'Lines whose first period at full price starts in the window by the number of a period, those '
    'old enough for it and those that have it. Columns: environment, app, plan, period, retained, '
    'lines.';

create function report.refund_rate_by_value(since timestamptz, before timestamptz)
returns table (environment text, bundle_id text, currency text, refunded bigint, paid bigint)
language sql stable parallel safe
as $$
    select environment, bundle_id, currency,
        report.half_even(
            coalesce(sum(amount::numeric * share) filter (where fact = 'taken_out'), 0), 100000),
        coalesce(sum(amount) filter (where fact = 'paid'), 0)::bigint
    from report.movement
    where fact in ('paid', 'taken_out') and amount is not null
        and at_ms >= report.milliseconds(since) and at_ms < report.milliseconds(before)
    group by environment, bundle_id, currency
$$;

comment on function report.refund_rate_by_value(timestamptz, timestamptz) is
    'What was paid in the window, and what of it went back and stayed so. Columns: environment, '
    'app, currency, milliunits refunded, milliunits paid.';

revoke execute on all functions in schema report from public;
grant execute on all functions in schema report to subledger_analyst, subledger_daemon;
