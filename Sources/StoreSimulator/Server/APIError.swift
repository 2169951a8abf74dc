import Domain
import HTTP

/// What the server API answers when it refuses.
///
/// - Source: Apple, App Store Server API, error codes; the first three digits are the status.
struct APIError: Error, Equatable {
    let code: Int64
    let message: String

    init(_ code: Int64, _ message: String) {
        self.code = code
        self.message = message
    }

    static let badRequest = APIError(4_000_000, "Bad request.")
    static let badApp = APIError(4_000_002, "Invalid request app identifier.")
    static let badRevision = APIError(4_000_005, "Invalid request revision.")
    static let badTransaction = APIError(4_000_006, "Invalid transaction id.")
    static let badOriginal = APIError(4_000_008, "Invalid original transaction id.")
    static let badDays = APIError(4_000_009, "Invalid extend by days value.")
    static let badReason = APIError(4_000_010, "Invalid extend reason code.")
    static let badIdentifier = APIError(4_000_011, "Invalid request identifier.")
    static let startTooFar = APIError(4_000_012, "Invalid start date: too far in the past.")
    static let startAfterEnd = APIError(4_000_013, "Invalid start date: after the end date.")
    static let badPage = APIError(4_000_014, "Invalid pagination token.")
    static let badStart = APIError(4_000_015, "Invalid start date.")
    static let badEnd = APIError(4_000_016, "Invalid end date.")
    static let badType = APIError(4_000_018, "Invalid notification type or subtype.")
    static let tooManyFilters = APIError(4_000_019, "Multiple filters supplied.")
    static let badTestToken = APIError(4_000_020, "Invalid test notification token.")
    static let badSort = APIError(4_000_021, "Invalid sort.")
    static let badProductType = APIError(4_000_022, "Invalid product type.")
    static let badProduct = APIError(4_000_023, "Invalid product id.")
    static let badOwnership = APIError(4_000_026, "Invalid in-app ownership type.")
    static let badRevoked = APIError(4_000_030, "Invalid revoked parameter.")
    static let badStatus = APIError(4_000_031, "Invalid status.")
    static let badConsent = APIError(4_000_035, "Invalid customer consented value.")
    static let badDelivery = APIError(4_000_036, "Invalid delivery status.")
    static let badSample = APIError(4_000_041, "Invalid sample content provided value.")
    static let badPreference = APIError(4_000_044, "Invalid refund preference.")
    static let appTransactionUnsupported = APIError(
        4_000_048, "The app transaction id is not supported here.")
    static let badToken = APIError(4_000_183, "Invalid app account token: it must be a UUID.")
    static let familyUnsupported = APIError(
        4_000_185, "A family-shared transaction is not supported.")
    static let notOriginal = APIError(4_000_187, "The id is not an original transaction id.")
    static let percentageOfSubscription = APIError(
        4_000_209, "The consumption percentage is not allowed for auto-renewable subscriptions.")
    static let notEligible = APIError(4_030_004, "The subscription is not eligible.")
    static let extendedOften = APIError(4_030_005, "The subscription reached its maximum.")
    static let familyExtension = APIError(4_030_007, "The subscription is family-shared.")
    static let noAccount = APIError(4_040_001, "Account not found.")
    static let noOriginal = APIError(4_040_005, "Original transaction id not found.")
    static let noNotificationURL = APIError(4_040_007, "No notification URL is configured.")
    static let noTest = APIError(4_040_008, "The test notification was not found.")
    static let noExtension = APIError(4_040_009, "The extension request was not found.")
    static let noTransaction = APIError(4_040_010, "Transaction id not found.")
    static let limited = APIError(4_290_000, "Rate limit exceeded.")
    static let general = APIError(5_000_000, "General internal error.")
    static let generalRetryable = APIError(5_000_001, "General internal error; retry.")

    /// The error as it is answered.
    func response(headers: [Header] = []) -> Response {
        .api(
            JSON(members: ["errorCode": .integer(code), "errorMessage": .string(message)]),
            status: Int(code / 10_000), headers: headers)
    }
}

extension Response {
    /// An answer of a value, as Apple's servers label it.
    static func api(_ json: JSON, status: Int = 200, headers: [Header] = []) -> Response {
        Response(
            status: status, headers: headers + [Header("Content-Type", "application/json")],
            body: .bytes(json.bytes()))
    }
}
