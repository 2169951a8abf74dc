/// What `store-simulator` takes, and what its help says.
enum SimulatorForm {
    static let form = CommandForm(
        command: .storeSimulator,
        summary: "stand in for Apple's servers, to develop and test against",
        options: [
            OptionForm(
                name: "directory", value: .text("DIR"),
                summary: "where root.der, AuthKey.p8 and simulator.json are written (needed)"),
            OptionForm(
                name: "scenario", value: .text("FILE"),
                summary: "products and customers with their lives, JSON5"),
            OptionForm(
                name: "notify", value: .text("URL"), summary: "where notifications are sent"),
            OptionForm(
                name: "start", value: .text("INSTANT"),
                summary: "when the store's clock begins (default: now)"),
            OptionForm(
                name: "clock", value: .text("FACTOR"),
                summary: "simulated seconds per real second (default: 1)"),
            OptionForm(
                name: "retries", value: .text("FACTOR"),
                summary: "how much faster than in life notifications are sent again"),
        ],
        notes: notes)

    private static let notes = """
        Answers verifyReceipt at /verifyReceipt (Production) and /sandbox/verifyReceipt, and the server
        API below /production and /sandbox: these are the base URLs to give to clients, which trust
        root.der and sign with AuthKey.p8, whose key id and issuer id simulator.json names. --listen
        defaults to 127.0.0.1:9090; 0 as the port picks one, and it is printed. Online checks are answered
        at /ocsp, which the certificates name unless the port is 0.

        The clock runs FACTOR times as fast as life until it is level with it: nothing is signed in the
        future. A scenario is an object of these members, all optional:

          app: {bundleId, appAppleId, sharedSecret, graceDays}
          products: {ID: {kind, group, level, plan, price, trial, accessDuration, entitlements}}
          start: an instant, or how long ago, such as "P1Y"; length: where the clock stops
          clock, notify, seed, environment; month: how long a month lasts, such as "PT10S"
          lives: [{customer, token, environment, storefront, currency, showsToken,
                   steps: [{after: "P10D", do: "buy", product: "pro.monthly"}, …]}]
          customers: how many more customers live at random, always the same by seed
          faults: as below

        A step does one of: buy (product, quantity), cancel, resume, fail (the bank pays no longer),
        recover, upgrade, downgrade, change (product), ask (reason), refund (transaction: latest,
        previous, first or an id; percentage in thousandths), decline, reverse, share (with), unshare,
        extend (days), raisePrice (price, needsConsent), consent, delete.

        Below /simulator, without a key:

          GET  /simulator/lives                    customers with tokens, receipts and lines
          GET  /simulator/truth?customer=&at=      what a customer may use, by the store's own account
          POST /simulator/act                      {customer, do, …}: a step, now
          GET  /simulator/clock                    also POST {factor}, {to: INSTANT} or {by: "P1M"}
          POST /simulator/faults                   {serverAPI: {limited, failing, slow, slowMilliseconds},
                                                    notifications: {lost, doubled, reordered, reorderedBy},
                                                    verifyReceipt: {share, status}, rateLimits}
                                                   shares from 0 to 1; what is not named is no fault
        """
}
