-- 0010_belonging
-- What:     whose lines are, how they began and what they reached as views; who has which line, and
--           whose money moved, as functions.
-- Why:      analysts ask in SQL what the interface answers, with the same numbers.
-- Locks:    none; creates new objects only.
-- Undo:     drop the functions that it makes, and the views tenure, beginning, retention, token_link,
--           merge and granted, of schema report.
-- Breaking: no; nothing else changes.

create view report.tenure as
    select
        environment,
        split_part(stream, '/', 3) as original_transaction_id,
        bundle as bundle_id,
        coalesce(other_app, bundle) as app,
        customer,
        is_token,
        from_at as from_ms,
        until_at as until_ms,
        product,
        plan,
        product_group,
        storefront,
        currency,
        offer
    from projection.tenure
    join projection.generation using (generation)
    where generation.projection = 'metrics' and generation.is_live;

comment on view report.tenure is
    'Whose a line is by its own words from one instant to another; the rows of a line do not overlap.';
comment on column report.tenure.environment is 'Production, Sandbox, …';
comment on column report.tenure.original_transaction_id is 'The line: its first transaction.';
comment on column report.tenure.bundle_id is 'The line''s app.';
comment on column report.tenure.app is 'The app of the last period that has begun.';
comment on column report.tenure.customer is
    'A customer''s or a token''s random number; empty while the line is nobody''s.';
comment on column report.tenure.is_token is
    'Whether it is a token''s, which may be bound to another customer: token_link says it.';
comment on column report.tenure.from_ms is 'When it begins, in ms since 1970.';
comment on column report.tenure.until_ms is
    'When it ends, in ms since 1970; beyond year 9999 without an end.';
comment on column report.tenure.product is
    'The product of the last period that has begun; this and what follows of nobody''s lines alone.';
comment on column report.tenure.plan is 'Its plan''s length.';
comment on column report.tenure.product_group is 'Its subscription group.';
comment on column report.tenure.storefront is 'Its country, ISO 3166-1 alpha-3.';
comment on column report.tenure.currency is 'Its currency, ISO 4217.';
comment on column report.tenure.offer is 'Its offer''s name.';

create view report.beginning as
    select
        environment,
        split_part(stream, '/', 3) as original_transaction_id,
        bundle as bundle_id,
        coalesce(other_app, bundle) as app,
        transaction as transaction_id,
        start_at as start_ms,
        first_at as first_ms,
        paid_at as paid_ms,
        has_tried,
        has_converted,
        first_currency,
        product,
        plan,
        product_group,
        storefront,
        offer
    from projection.beginning
    join projection.generation using (generation)
    where generation.projection = 'metrics' and generation.is_live;

comment on view report.beginning is 'How a line began, one row each.';
comment on column report.beginning.environment is 'Production, Sandbox, …';
comment on column report.beginning.original_transaction_id is 'The line: its first transaction.';
comment on column report.beginning.bundle_id is 'The line''s app.';
comment on column report.beginning.app is 'The first period''s app.';
comment on column report.beginning.transaction_id is 'The first period.';
comment on column report.beginning.start_ms is 'When access first begins, in ms since 1970.';
comment on column report.beginning.first_ms is
    'When the first period was bought, in ms since 1970.';
comment on column report.beginning.paid_ms is
    'When something was paid for first, in ms since 1970; empty: never.';
comment on column report.beginning.has_tried is 'Whether it ever was a trial.';
comment on column report.beginning.has_converted is
    'Whether a trial was followed by a paid period within 60 days.';
comment on column report.beginning.first_currency is
    'The first currency that a period of it names, ISO 4217.';
comment on column report.beginning.product is 'The first period''s product.';
comment on column report.beginning.plan is 'Its plan''s length; empty of what is no subscription.';
comment on column report.beginning.product_group is 'Its subscription group.';
comment on column report.beginning.storefront is 'Its country, ISO 3166-1 alpha-3.';
comment on column report.beginning.offer is 'Its offer''s name.';

create view report.retention as
    select
        environment,
        split_part(stream, '/', 3) as original_transaction_id,
        bundle as bundle_id,
        coalesce(other_app, bundle) as app,
        first_at as first_ms,
        string_to_array(periods, ',')::bigint[] as periods,
        product,
        plan,
        product_group,
        storefront,
        currency,
        offer
    from projection.retention
    join projection.generation using (generation)
    where generation.projection = 'metrics' and generation.is_live;

comment on view report.retention is
    'Which periods a line reached after its first one at full price, one row each.';
comment on column report.retention.environment is 'Production, Sandbox, …';
comment on column report.retention.original_transaction_id is 'The line: its first transaction.';
comment on column report.retention.bundle_id is 'The line''s app.';
comment on column report.retention.app is 'The first period''s app.';
comment on column report.retention.first_ms is
    'When the first period at full price was bought, in ms since 1970.';
comment on column report.retention.periods is
    'Numbers of plan lengths after it, itself being 1, in order.';
comment on column report.retention.product is 'Its product.';
comment on column report.retention.plan is 'Its plan''s length.';
comment on column report.retention.product_group is 'Its subscription group.';
comment on column report.retention.storefront is 'Its country, ISO 3166-1 alpha-3.';
comment on column report.retention.currency is 'Its currency, ISO 4217.';
comment on column report.retention.offer is 'Its offer''s name.';

create view report.token_link as
    select distinct on (token) token, token_link.customer as customer, token_link.position as position
    from projection.token_link
    join projection.generation using (generation)
    where generation.projection = 'entitlements' and generation.is_live
    order by token, token_link.position desc;

comment on view report.token_link is 'Which customer a token is bound to.';
comment on column report.token_link.token is 'The token''s random number.';
comment on column report.token_link.customer is 'The customer''s random number.';
comment on column report.token_link.position is 'The entry that says so.';

create view report.merge as
    select
        customer,
        (merge ->> 'into')::bigint as into_customer,
        (merge ->> 'from')::bigint as from_ms,
        (merge ->> 'until')::bigint as until_ms
    from projection.customer
    join projection.generation using (generation)
    cross join lateral json_array_elements(state -> 'merges') as merge
    where generation.projection = 'entitlements' and generation.is_live;

comment on view report.merge is 'Which customer is read as another, and while.';
comment on column report.merge.customer is 'The customer''s random number.';
comment on column report.merge.into_customer is 'The other one''s.';
comment on column report.merge.from_ms is 'When it begins, in ms since 1970.';
comment on column report.merge.until_ms is 'When it ends, in ms since 1970; empty: not yet.';

create view report.granted as
    select
        customer,
        granted ->> 'id' as grant_id,
        granted ->> 'entitlement' as entitlement,
        (granted ->> 'from')::bigint as from_ms,
        (granted ->> 'until')::bigint as until_ms
    from projection.customer
    join projection.generation using (generation)
    cross join lateral json_array_elements(state -> 'grants') as granted
    where generation.projection = 'entitlements' and generation.is_live;

comment on view report.granted is 'What the backend gave to customers.';
comment on column report.granted.customer is 'The customer''s random number.';
comment on column report.granted.grant_id is 'The grant.';
comment on column report.granted.entitlement is 'What it gives.';
comment on column report.granted.from_ms is 'When it begins, in ms since 1970.';
comment on column report.granted.until_ms is 'When it ends, in ms since 1970; empty: no end.';

grant select on report.tenure, report.beginning, report.retention, report.token_link, report.merge,
    report.granted to subledger_analyst, subledger_daemon;

create function report.utc_day(ms bigint)
returns bigint
language sql immutable parallel safe
as $$
    select (ms + 1209600000000000000) / 86400000 - 14000000000
$$;

comment on function report.utc_day(bigint) is 'The day in UTC of ms since 1970, as days since 1970.';

-- Right after a rebuild nothing is known of how many rows there are; joins by nested loops, which
-- would look best, never end then.
create function report.owner(instant timestamptz)
returns table (
    environment text, bundle_id text, original_transaction_id text, customer bigint
)
language sql stable parallel safe
set enable_nestloop = off
as $$
    with recursive merged as (
        select customer, into_customer from report.merge
        where from_ms <= report.milliseconds(instant)
            and (until_ms is null or until_ms > report.milliseconds(instant))
    ), reader as (
        select customer, into_customer as reader, 1 as steps from merged
        union all
        select reader.customer, merged.into_customer, steps + 1
        from reader join merged on merged.customer = reader.reader where steps < 1000
    ), last_reader as (
        select distinct on (customer) customer, reader from reader order by customer, steps desc
    )
    select environment, bundle_id, original_transaction_id, coalesce(reader, named.customer)
    from (
        select tenure.environment, tenure.bundle_id, tenure.original_transaction_id,
            coalesce(token_link.customer, tenure.customer) as customer
        from report.tenure
        join report.beginning using (environment, original_transaction_id)
        left join report.token_link on is_token and token = tenure.customer
        where tenure.customer is not null
            and from_ms <= greatest(report.milliseconds(instant), start_ms)
            and until_ms > greatest(report.milliseconds(instant), start_ms)
    ) as named
    left join last_reader using (customer)
$$;

comment on function report.owner(timestamptz) is
    'Whose lines are at an instant, links of tokens and merges followed; lines that begin later '
    'are whose they will be. Columns: environment, app, line, customer.';

create function report.person(known_at timestamptz default now())
returns table (
    environment text, bundle_id text, original_transaction_id text, person text, first_ms bigint,
    paid_ms bigint, currency text, has_tried boolean, has_converted boolean, is_first boolean
)
language sql stable parallel safe
set enable_nestloop = off
as $$
    select environment, bundle_id, original_transaction_id, person,
        first_value(first_ms) over whole, min(paid_ms) over whole,
        first_value(first_currency) over whole, bool_or(has_tried) over whole,
        bool_or(has_converted) over whole, row_number() over whole = 1
    from (
        select beginning.*,
            coalesce('customer/' || customer, 'line/' || original_transaction_id) as person
        from report.beginning
        left join report.owner(known_at) using (environment, bundle_id, original_transaction_id)
    ) as line
    window whole as (
        partition by environment, bundle_id, person order by first_ms, transaction_id collate "C"
        rows between unbounded preceding and unbounded following)
$$;

comment on function report.person(timestamptz) is
    'Who has which line of an app, and how that person began with the app; nobody''s lines are '
    'persons each. Columns: environment, app, line, person, first purchase and first payment in ms '
    'since 1970, the first line''s currency, whether a line was tried, whether one converted, '
    'whether the line is the person''s first.';

create function report.person_money(
    basis text default 'as_transacted', known_at timestamptz default now()
)
returns table (
    environment text, bundle_id text, person text, first_ms bigint, paid_ms bigint, at_ms bigint,
    currency text, is_purchase boolean, hundred_thousandths numeric
)
language sql stable parallel safe
set enable_nestloop = off
as $$
    select environment, bundle_id, person, first_ms, paid_ms, at_ms, movement.currency,
        fact = 'paid',
        case fact when 'paid' then 100000 when 'reversed' then share else -share end * amount::numeric
    from report.movement
    join report.person(known_at) using (environment, bundle_id, original_transaction_id)
    where amount <> 0 and fact = any(case basis when 'restated' then array['paid', 'taken_out']
        else array['paid', 'refunded', 'reversed'] end)
$$;

comment on function report.person_money(text, timestamptz) is
    'Money of persons by when it moved, by basis as_transacted or restated. Columns: environment, '
    'app, person, its first purchase and first payment, when it moved, in ms since 1970, the '
    'currency, whether it was paid, hundred-thousandths of milliunits, less than 0 when it went back.';

revoke execute on all functions in schema report from public;
grant execute on all functions in schema report to subledger_analyst, subledger_daemon;
