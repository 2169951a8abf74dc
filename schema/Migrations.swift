/// One step of the schema, embedded in the program.
public struct Migration: Sendable {
    /// The number that the file's name begins with, from 1, without gaps.
    public let number: Int
    /// The file's name without its ending, such as `0001_ledger`.
    public let name: String
    /// The text of the file.
    public let sql: String

    /// Every migration, in order.
    public static let all: [Migration] = [
        Migration(number: 1, name: "0001_ledger", bytes: PackageResources._001_ledger_sql),
        Migration(number: 2, name: "0002_asking", bytes: PackageResources._002_asking_sql),
        Migration(
            number: 3, name: "0003_generations", bytes: PackageResources._003_generations_sql),
        Migration(number: 4, name: "0004_delivery", bytes: PackageResources._004_delivery_sql),
        Migration(number: 5, name: "0005_analytics", bytes: PackageResources._005_analytics_sql),
        Migration(number: 6, name: "0006_report", bytes: PackageResources._006_report_sql),
        Migration(number: 7, name: "0007_states", bytes: PackageResources._007_states_sql),
        Migration(number: 8, name: "0008_flows", bytes: PackageResources._008_flows_sql),
        Migration(number: 9, name: "0009_persons", bytes: PackageResources._009_persons_sql),
        Migration(number: 10, name: "0010_belonging", bytes: PackageResources._010_belonging_sql),
        Migration(number: 11, name: "0011_cohorts", bytes: PackageResources._011_cohorts_sql),
        Migration(number: 12, name: "0012_origins", bytes: PackageResources._012_origins_sql),
        Migration(number: 13, name: "0013_presence", bytes: PackageResources._013_presence_sql),
        Migration(number: 14, name: "0014_money_span", bytes: PackageResources._014_money_span_sql),
    ]

    private init(number: Int, name: String, bytes: [UInt8]) {
        self.number = number
        self.name = name
        self.sql = String(decoding: bytes, as: UTF8.self)
    }
}
