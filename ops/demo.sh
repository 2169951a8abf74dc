# `ops/run --demo`: a daemon and a store beside it, on a ledger that is thrown away. Sourced.

store=127.0.0.1:9090
scratch=$(mktemp -d)
# An embedded cluster started by root runs as another user, which must reach its folder.
chmod 755 "$scratch"
started=()

finish() {
    local process
    trap - EXIT INT TERM
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    for process in "${started[@]}"; do wait "$process" 2>/dev/null || true; done
    rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Waits until an address answers, as long as its process lives.
answers() {
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        curl -fs --noproxy "*" -m 5 -o /dev/null "$1" && return
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

name() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$scratch/store/simulator.json"; }

# The names of the customers in the scenario that have tokens, each with its token.
tokens() {
    sed -n 's/.*customer: "\([a-z]*\)", token: "\([-0-9a-f]*\)".*/\1 \2/p' "$root/ops/demo.json5"
}

configure() {
    cat >"$scratch/subledger.json5" <<END
{
  listen: "127.0.0.1:8080",
  dataDirectory: "data",
  apps: [{
    bundleId: "com.example.app", appAppleId: 1000000001, environments: ["Production", "Sandbox"],
    gracePeriodDays: 16,
    serverAPI: {issuerId: "$(name issuerId)", keyId: "$(name keyId)",
                privateKey: {file: "store/AuthKey.p8"}},
  }],
  apple: {
    rootCertificates: ["store/root.der"],
    endpoints: {
      verifyReceipt: {Production: "http://$store/verifyReceipt",
                      Sandbox: "http://$store/sandbox/verifyReceipt"},
      serverAPI: {Production: "http://$store/production", Sandbox: "http://$store/sandbox"},
    },
  },
  catalog: {products: {
    "pro.monthly": {kind: "autoRenewable", group: "G1", level: 2, plan: "P1M", entitlements: ["pro"]},
    "plus.monthly": {kind: "autoRenewable", group: "G1", level: 1, plan: "P1M",
                     entitlements: ["pro", "plus"]},
    "pro.lifetime": {kind: "nonConsumable", entitlements: ["pro"]},
    "coins.100": {kind: "consumable"},
  }},
}
END
}

demo() {
    local daemon customer token key
    key=$(head -c 24 /dev/urandom | base64 | tr '+/' '-_')
    # Certificates and keys first: the daemon trusts the store's root.
    "$binary" store-simulator --listen "$store" --directory "$scratch/store" \
        --scenario "$root/ops/demo.json5" --notify http://127.0.0.1:8080/v1/apple/notifications \
        --retries 3600 &
    started+=($!)
    answers "http://$store/simulator/clock" "$!" || die "the store did not begin"
    configure
    SUBLEDGER_BOOTSTRAP_KEY=$key SUBLEDGER_LOG_LEVEL=warning \
        "$binary" serve --config "$scratch/subledger.json5" &
    daemon=$!
    started+=("$daemon")
    answers http://127.0.0.1:8080/readyz "$daemon" || die "the daemon did not begin"
    while read -r customer token; do
        curl -fs --noproxy "*" -m 10 -o /dev/null -X PUT -H "Authorization: Bearer $key" \
            "http://127.0.0.1:8080/v1/customers/$customer/tokens/$token" ||
            die "$customer's token could not be bound"
    done < <(tokens)
    cat >&2 <<END

A store is open at http://$store whose month lasts ten seconds. Ada, Bea, Cem and twelve others buy
there, renew, fail, get money back and recover, as ops/demo.json5 says; ask now and again how that is:

  curl -H 'Authorization: Bearer $key' http://127.0.0.1:8080/v1/customers/ada/entitlements
  curl 'http://$store/simulator/truth?customer=ada'

The first is the ledger's answer, the second the store's own. Try bea and cem, or make things happen:

  curl -d '{"customer": "ada", "do": "refund"}' http://$store/simulator/act

Ctrl-C ends it, and nothing is kept.

END
    wait "$daemon"
}
