import Domain
import Postgres

/// As whom the numbers that lines name are read, at some instants.
struct Readers {
    let people: People
    let instants: [Instant]

    /// Tokens that are bound, and to whom.
    var links: (tokens: [Int64], customers: [Int64]) {
        let sorted = people.links.sorted { $0.key < $1.key }
        return (sorted.map(\.key.number), sorted.map(\.value.number))
    }

    /// Customers who are read as somebody else, by the place of an instant.
    var merges: (places: [Int64], customers: [Int64], readers: [Int64]) {
        var places: [Int64] = []
        var customers: [Int64] = []
        var readers: [Int64] = []
        for customer in merged {
            for (place, instant) in instants.enumerated() {
                let reader = people.customers.read(customer, at: instant)
                guard reader != customer else { continue }
                places.append(Int64(place))
                customers.append(customer.number)
                readers.append(reader.number)
            }
        }
        return (places, customers, readers)
    }

    private var merged: [CustomerNumber] {
        people.customers.all.filter { !$0.merges.isEmpty }.map(\.number)
    }

    /// Everybody as whom an owner is read at any of the instants.
    func readers(of owner: LineOwner) -> Set<CustomerNumber> {
        let customer = owner.customer(people.links)
        return Set(instants.map { people.customers.read(customer, at: $0) })
    }

    /// Every number that is read as somebody of a set at any of the instants.
    func numbers(of readers: Set<CustomerNumber>) -> Set<CustomerNumber> {
        let customers = readers.union(
            merged.filter { customer in
                instants.contains { readers.contains(people.customers.read(customer, at: $0)) }
            })
        return customers.union(
            people.links.filter { customers.contains($0.value) }.map(\.key))
    }
}
