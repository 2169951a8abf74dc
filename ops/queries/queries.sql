-- Ready queries over the schema `report`, for a member of the role `subledger_analyst`.
-- Money is in milliunits and never added across currencies; every instant is UTC; a window holds
-- its beginning and not its end. Each query stands alone.

-- Monthly recurring revenue as each day ends.
select day, currency, value / 1000.0 as mrr, unpriced
from report.mrr_daily('2025-01-01', '2025-12-31')
where environment = 'Production' order by day, currency;

-- How each month changed it: what was new, came back, grew, shrank and went.
select month::date, currency, new, reactivation, expansion, contraction, churn
from generate_series(timestamptz '2025-01-01Z', '2025-12-01Z', interval '1 month') as month
cross join lateral report.mrr_movement(month, month + interval '1 month') as moved
where environment = 'Production' order by month, currency;

-- Who is paying at the beginning of each month, on trial, in grace, or being asked again.
select month::date,
    (select sum(value) from report.active_paid(month) where environment = 'Production') as paid,
    (select sum(value) from report.active_trials(month) where environment = 'Production') as trials,
    (select sum(value) from report.in_grace(month) where environment = 'Production') as in_grace,
    (select sum(value) from report.in_billing_retry(month) where environment = 'Production') as retry
from generate_series(timestamptz '2025-01-01Z', '2025-12-01Z', interval '1 month') as month
order by month;

-- Churn of each month.
select month::date, value as churn_rate
from generate_series(timestamptz '2025-01-01Z', '2025-12-01Z', interval '1 month') as month
cross join lateral report.churn_rate(month, month + interval '1 month') as churned
where environment = 'Production' order by month;

-- Money of each month, on the day it moved.
select month::date, currency, gross, refunded, reversed, net
from generate_series(timestamptz '2025-01-01Z', '2025-12-01Z', interval '1 month') as month
cross join lateral report.revenue(month, month + interval '1 month') as moved
where environment = 'Production' order by month, currency;

-- What became of each month's trials.
select month::date, trials, converted, pending, abandoned, late_conversion
from generate_series(timestamptz '2025-01-01Z', '2025-12-01Z', interval '1 month') as month
cross join lateral report.trial_conversion(month, month + interval '1 month') as trial
where environment = 'Production' order by month;

-- The products that earn the most, and how much of it went back.
select product, currency, count(*) as purchases, sum(price_milliunits) as gross,
    count(*) filter (where is_refunded and reversed_at is null) as refunded
from report.period
where environment = 'Production' and class in ('paid', 'intro')
group by product, currency order by gross desc nulls last;

-- Lines that are paid for now and will not renew, the dearest first.
select original_transaction_id, product, until_at, price_milliunits, currency
from report.coverage
where environment = 'Production' and kind = 'paid' and outlook = 'set_to_cancel'
    and from_at <= now() and until_at > now()
order by price_milliunits desc nulls last limit 100;

-- Customers with a paid line at the beginning of each month, and lines that are nobody's.
select month::date,
    (select sum(value) from report.active_customers(month) where environment = 'Production')
        as customers,
    (select sum(value) from report.unattributed_lines(month) where environment = 'Production')
        as nobodys
from generate_series(timestamptz '2025-01-01Z', '2025-12-01Z', interval '1 month') as month
order by month;

-- What customers first seen in the year brought by their age, cumulated.
select currency, age, per_customer, net, customers, payers, mature
from report.realised_ltv('2025-01-01Z', '2026-01-01Z')
where environment = 'Production' order by currency, age;

-- Of the lines that first paid in the year how many came to their next periods.
select plan, period, retained, lines
from report.subscription_retention('2025-01-01Z', '2026-01-01Z')
where environment = 'Production' and period <= 12 order by plan, period;
