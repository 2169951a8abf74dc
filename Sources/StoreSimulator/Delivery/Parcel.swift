/// A notification on its way.
struct Parcel: Sendable {
    let notice: Int
    /// Parcels of one lane leave in order.
    let lane: Int
    let text: String
    let mayRetry: Bool
    /// How long it is held back. Units: real milliseconds.
    var heldBack: Int64 = 0
    var isDoubled = false

    /// The same, no longer held back.
    var atOnce: Parcel {
        var parcel = self
        parcel.heldBack = 0
        return parcel
    }
}
