-- 0006_report
-- What:     periods, coverage, movements, customers and entitlements as views.
-- Why:      analysts ask in SQL what the interface answers, by the same rows.
-- Locks:    none; creates new objects only.
-- Undo:     drop the views period, coverage, movement, customer and entitlement, of schema report.
-- Breaking: no; nothing else changes.

create view report.period as
    select
        environment,
        original as original_transaction_id,
        transaction as transaction_id,
        web_order_line_item as web_order_line_item_id,
        bundle as bundle_id,
        product,
        plan,
        product_group,
        plan_is_inferred,
        shape,
        class,
        paid_number,
        to_timestamp(purchased_at / 1000.0) as purchased_at,
        to_timestamp(from_at / 1000.0) as from_at,
        to_timestamp(until_at / 1000.0) as until_at,
        to_timestamp(expires_at / 1000.0) as expires_at,
        ending,
        to_timestamp(revoked_at / 1000.0) as revoked_at,
        is_refunded,
        refund_share,
        to_timestamp(reversed_at / 1000.0) as reversed_at,
        is_upgraded,
        price as price_milliunits,
        currency,
        storefront,
        offer,
        ownership,
        customer,
        flags,
        evidence
    from projection.period
    join projection.generation using (generation)
    where generation.projection = 'periods' and generation.is_live;

comment on view report.period is
    'One span of access that one charge paid for, as the live projection holds it.';
comment on column report.period.environment is 'Production, Sandbox, …';
comment on column report.period.original_transaction_id is 'The line: its first transaction.';
comment on column report.period.transaction_id is
    'The lowest of the transaction ids that stand for it.';
comment on column report.period.web_order_line_item_id is 'Apple''s id of the paid period.';
comment on column report.period.bundle_id is 'The app.';
comment on column report.period.product is 'The product bought.';
comment on column report.period.plan is
    'The plan''s length, an ISO 8601 duration; P<n>D when it was inferred.';
comment on column report.period.product_group is 'The subscription group.';
comment on column report.period.plan_is_inferred is
    'Whether no catalogue says the plan, so that dates do.';
comment on column report.period.shape is 'subscription, permanent, pass, consumable or unstated.';
comment on column report.period.class is
    'How it counts: paid, intro, trial, free, family or other.';
comment on column report.period.paid_number is
    'Its number among the line''s paid periods, from 1; empty if not paid.';
comment on column report.period.purchased_at is 'When it was charged: money is dated by it.';
comment on column report.period.from_at is 'When access begins.';
comment on column report.period.until_at is
    'When access without grace ends; empty: no end of its own.';
comment on column report.period.expires_at is 'When the paid time ends, extensions included.';
comment on column report.period.ending is 'What ends the access: expiry, revocation or succession.';
comment on column report.period.revoked_at is 'When access was taken back.';
comment on column report.period.is_refunded is 'Whether money went back with the revocation.';
comment on column report.period.refund_share is 'The refunded share, in thousandths of a percent.';
comment on column report.period.reversed_at is 'When the last refund was taken back.';
comment on column report.period.is_upgraded is 'Whether Apple marked it as upgraded.';
comment on column report.period.price_milliunits is
    'What was paid in all, in milliunits of currency; empty: not known.';
comment on column report.period.currency is 'ISO 4217.';
comment on column report.period.storefront is 'Country of the store account, ISO 3166-1 alpha-3.';
comment on column report.period.offer is 'The offer''s name.';
comment on column report.period.ownership is 'PURCHASED, FAMILY_SHARED, …';
comment on column report.period.customer is
    'Whose it is by the line''s own words: a random number.';
comment on column report.period.flags is 'Caveats, with commas between.';
comment on column report.period.evidence is
    'Positions of the entries that state it, with commas between.';

create view report.coverage as
    select
        environment,
        split_part(stream, '/', 3) as original_transaction_id,
        bundle as bundle_id,
        coalesce(other_app, bundle) as app,
        kind,
        is_in_grace,
        outlook,
        reason,
        is_ended,
        case when from_at between -62135596800000 and 253402300799999
            then to_timestamp(from_at / 1000.0) end as from_at,
        case when until_at between -62135596800000 and 253402300799999
            then to_timestamp(until_at / 1000.0) end as until_at,
        from_at as from_ms,
        until_at as until_ms,
        first_paid_at as first_paid_ms,
        price as price_milliunits,
        product,
        plan,
        product_group,
        storefront,
        currency,
        offer
    from projection.coverage
    join projection.generation using (generation)
    where generation.projection = 'metrics' and generation.is_live;

comment on view report.coverage is
    'What a line counts as from one instant to another; the rows of a line do not overlap.';
comment on column report.coverage.environment is 'Production, Sandbox, …';
comment on column report.coverage.original_transaction_id is 'The line: its first transaction.';
comment on column report.coverage.bundle_id is 'The line''s app.';
comment on column report.coverage.app is 'The period''s app.';
comment on column report.coverage.kind is
    'paid (or introductory), trial, free, family; retry: Apple tries to collect.';
comment on column report.coverage.is_in_grace is 'Whether grace alone covers it.';
comment on column report.coverage.outlook is
    'Of paid ones: set_to_renew, set_to_cancel or billing_issue.';
comment on column report.coverage.reason is
    'Of paid ones: why the line ended if it ended with this period.';
comment on column report.coverage.is_ended is 'False before a gap about which nothing is known.';
comment on column report.coverage.from_at is 'When it begins.';
comment on column report.coverage.until_at is 'When it ends; empty: no end is known.';
comment on column report.coverage.from_ms is 'When it begins, in ms since 1970.';
comment on column report.coverage.until_ms is
    'When it ends, in ms since 1970; beyond year 9999 without an end.';
comment on column report.coverage.first_paid_ms is
    'When the line was paid for first, in ms since 1970.';
comment on column report.coverage.price_milliunits is
    'What the period cost, in milliunits of currency; empty: not known.';
comment on column report.coverage.product is 'The product bought; empty where no period is meant.';
comment on column report.coverage.plan is
    'The plan''s length, an ISO 8601 duration; P<n>D when it was inferred.';
comment on column report.coverage.product_group is 'The subscription group.';
comment on column report.coverage.storefront is 'Country of the store account, ISO 3166-1 alpha-3.';
comment on column report.coverage.currency is 'ISO 4217.';
comment on column report.coverage.offer is 'The offer''s name.';

create view report.movement as
    select
        environment,
        split_part(stream, '/', 3) as original_transaction_id,
        bundle as bundle_id,
        coalesce(other_app, bundle) as app,
        fact,
        case when at between -62135596800000 and 253402300799999
            then to_timestamp(at / 1000.0) end as at,
        at as at_ms,
        known_from as known_from_ms,
        known_until as known_until_ms,
        case when mark & 130023424 <> 0 then amount end as amount,
        case when mark & 117440512 <> 0 then share end as share,
        product,
        plan,
        product_group,
        storefront,
        currency,
        offer
    from projection.movement
    join projection.generation using (generation)
    join (values
        (1, 'first_paid_after_trial'), (2, 'first_paid_as_intro'),
        (4, 'first_paid_directly'), (8, 'renewed'), (16, 'bought_again'), (32, 'upgraded'),
        (64, 'downgraded'), (128, 'crossgraded'), (256, 'credit_unknown'),
        (512, 'recovered_in_grace'), (1024, 'recovered_after_gap'),
        (2048, 'first_trial_began'), (4096, 'trial_began'), (8192, 'trial_converts'),
        (16384, 'trial_is_pending'), (32768, 'trial_is_abandoned'),
        (65536, 'trial_converts_late'), (131072, 'trial_converted'),
        (262144, 'trial_lapsed'), (524288, 'grace_entered'), (1048576, 'lost_in_retry'),
        (2097152, 'preference_changed'), (4194304, 'extended'), (8388608, 'paid'),
        (16777216, 'refunded'), (33554432, 'reversed'), (67108864, 'taken_out'),
        (134217728, 'refundable'), (268435456, 'refundable_was_refunded'),
        (536870912, 'unpriced'), (1073741824, 'inferred'), (2147483648, 'gap_unknown')
    ) as named (mark, fact) on movement.marks & named.mark <> 0
    where generation.projection = 'metrics' and generation.is_live;

comment on view report.movement is 'What happened to a line: one row for each fact.';
comment on column report.movement.environment is 'Production, Sandbox, …';
comment on column report.movement.original_transaction_id is 'The line: its first transaction.';
comment on column report.movement.bundle_id is 'The line''s app.';
comment on column report.movement.app is 'The period''s app.';
comment on column report.movement.fact is
    'What happened, such as renewed, paid, refunded, trial_began or grace_entered.';
comment on column report.movement.at is 'When.';
comment on column report.movement.at_ms is 'When, in ms since 1970.';
comment on column report.movement.known_from_ms is
    'It is so by instants of knowledge from this one on, ms since 1970.';
comment on column report.movement.known_until_ms is 'And before this one.';
comment on column report.movement.amount is 'Milliunits of currency; of extended: days.';
comment on column report.movement.share is
    'The part of the amount that went back, in thousandths of a percent.';
comment on column report.movement.product is 'The product bought; empty where no period is meant.';
comment on column report.movement.plan is
    'The plan''s length, an ISO 8601 duration; P<n>D when it was inferred.';
comment on column report.movement.product_group is 'The subscription group.';
comment on column report.movement.storefront is 'Country of the store account, ISO 3166-1 alpha-3.';
comment on column report.movement.currency is 'ISO 4217.';
comment on column report.movement.offer is 'The offer''s name.';

create view report.customer as
    select
        found.customer as customer,
        customer.position as position,
        found.lines as lines
    from (
        select customer, sum(is_line)::bigint as lines from (
            select customer, 1 as is_line from projection.holding
            where generation = (
                select generation from projection.generation
                where projection = 'entitlements' and is_live)
            union all
            select customer, 0 from projection.customer
            where generation = (
                select generation from projection.generation
                where projection = 'entitlements' and is_live)
        ) as named group by customer
    ) as found
    left join projection.customer on customer.customer = found.customer
        and customer.generation = (
            select generation from projection.generation
            where projection = 'entitlements' and is_live);

comment on view report.customer is
    'Every customer that an entry names: a number, and nothing about the person.';
comment on column report.customer.customer is 'The random number.';
comment on column report.customer.position is
    'The last entry of the customer''s own stream; empty without one.';
comment on column report.customer.lines is 'How many lines name it.';

create view report.entitlement as
    select
        period.environment as environment,
        period.original as original_transaction_id,
        period.transaction as transaction_id,
        period.bundle as bundle_id,
        period.product as product,
        named.entitlement as entitlement,
        period.class as class,
        period.customer as customer,
        to_timestamp(period.from_at / 1000.0) as from_at,
        to_timestamp(period.until_at / 1000.0) as until_at
    from projection.period
    join projection.generation using (generation)
    cross join lateral (
        select entry.body -> 'catalog' -> 'products' -> period.product as terms
        from ledger.entry
        where entry.stream = 'settings' and entry.bucket = 823
            and entry.body -> 'catalog' is not null
            and (coalesce((entry.body -> 'catalog' ->> 'validFrom')::bigint, -9e18)
                <= period.purchased_at
                or (entry.body -> 'catalog' -> 'alwaysFor')::jsonb
                    @> to_jsonb(period.product))
        order by entry.position desc limit 1
    ) as catalog
    cross join lateral json_array_elements_text(catalog.terms -> 'entitlements')
        as named (entitlement)
    where generation.projection = 'periods' and generation.is_live
        and period.until_at is distinct from period.from_at;

comment on view report.entitlement is
    'Intervals in which a period gives an entitlement by the catalogue in force at its '
    'purchase; without grace and grants. The verdict about an instant is the interface''s.';
comment on column report.entitlement.environment is 'Production, Sandbox, …';
comment on column report.entitlement.original_transaction_id is 'The line: its first transaction.';
comment on column report.entitlement.transaction_id is 'The period.';
comment on column report.entitlement.bundle_id is 'The app.';
comment on column report.entitlement.product is 'The product bought.';
comment on column report.entitlement.entitlement is 'What it gives.';
comment on column report.entitlement.class is 'How the period counts.';
comment on column report.entitlement.customer is
    'Whose it is by the line''s own words: a random number.';
comment on column report.entitlement.from_at is 'When it begins.';
comment on column report.entitlement.until_at is
    'When it ends; empty: the period has no end of its own.';

grant select on report.period, report.coverage, report.movement, report.customer, report.entitlement
    to subledger_analyst, subledger_daemon;
