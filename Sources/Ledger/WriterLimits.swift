extension Writer {
    /// Limits of a writer.
    public struct Limits: Sendable {
        /// The most proposals that may wait.
        public var waiting = 10_000
        /// The most proposals in one group.
        public var group = 1_000
        /// The most evidence in one group, compact. Units: bytes.
        public var groupBytes = 16 << 20
        /// How long a proposal may wait for PostgreSQL before its caller hears that it cannot
        /// store. What had to wait for other groups as long still gets an eighth of it.
        public var patience = Duration.seconds(8)
        /// How far this machine's clock may be ahead of PostgreSQL's. Units: milliseconds.
        public var clockLead: Int64 = 5_000
        /// How many entries the projections may be behind before appends wait for them.
        public var projectionLag: Int64 = 20_000
        /// The most streams kept folded in memory.
        public var cachedStreams = 20_000

        /// The limits that `serve` uses.
        public init() {}
    }
}
