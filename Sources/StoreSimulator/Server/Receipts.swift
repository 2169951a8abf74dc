import Crypto
import Domain
import Foundation
import HTTP

/// The text that a customer's device would hold as its receipt.
struct ReceiptText {
    let environment: Environment
    let customer: String

    init(environment: Environment, customer: String) {
        self.environment = environment
        self.customer = customer
    }

    /// What a text is the receipt of.
    ///
    /// - Throws: the status of a text that is none.
    init(_ text: String) throws(ReceiptStatus) {
        guard let bytes = Base64.decode(text), !bytes.isEmpty, !text.isEmpty else {
            throw ReceiptStatus(21_002)
        }
        let parts = String(decoding: bytes, as: UTF8.self).split(
            separator: "|", omittingEmptySubsequences: false
        ).map(String.init)
        guard parts.count == 4, parts[0] == "receipt" else { throw ReceiptStatus(21_002) }
        self.init(environment: Environment(parts[1]), customer: parts[2])
        guard parts[3] == mark else { throw ReceiptStatus(21_003) }
    }

    /// The receipt, as it is sent.
    var text: String {
        Base64.encode(Array("receipt|\(environment.name)|\(customer)|\(mark)".utf8))
    }

    /// What stands for the signature of a real one.
    private var mark: String {
        String(SHA256.digest(of: "\(environment.name)|\(customer)").description.prefix(16))
    }
}

/// A status other than 0.
///
/// - Source: Apple, `status` of verifyReceipt.
struct ReceiptStatus: Error, Equatable {
    let number: Int64

    init(_ number: Int64) { self.number = number }
}

extension Store {
    /// Answers verifyReceipt; always with HTTP's 200.
    func verifyReceipt(_ request: Request, in environment: Environment) -> Response {
        advance()
        do throws(ReceiptStatus) {
            return .api(try receipt(request, in: environment))
        } catch {
            let isInternal = (21_100...21_199).contains(error.number)
            return .api(
                JSON(members: [
                    "status": .integer(error.number),
                    "environment": .string(environment.name),
                    "is_retryable": isInternal ? .bool(true) : nil,
                ]))
        }
    }

    private func receipt(
        _ request: Request, in environment: Environment
    ) throws(ReceiptStatus) -> JSON {
        guard request.method == "POST" else { throw ReceiptStatus(21_000) }
        if let fault = receiptFault() { throw ReceiptStatus(fault) }
        guard let body = try? JSON.parse(request.body),
            let data = body["receipt-data"]?.text
        else { throw ReceiptStatus(21_002) }
        let receipt = try ReceiptText(data)
        guard receipt.environment == environment else {
            throw ReceiptStatus(environment == .production ? 21_007 : 21_008)
        }
        guard let person = world.person(receipt.customer, in: environment) else {
            throw ReceiptStatus(21_003)
        }
        guard !world.people[person].isDeleted else { throw ReceiptStatus(21_010) }
        if let secret = world.app.sharedSecret, body["password"]?.text != secret {
            throw ReceiptStatus(21_004)
        }
        let onlyNewest = body["exclude-old-transactions"]?.bool ?? false
        return ReceiptAnswer(world: world, person: person).rendered(onlyNewest: onlyNewest)
    }
}
