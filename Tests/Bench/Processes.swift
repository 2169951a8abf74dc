import Foundation
import Glibc

/// What processes have cost.
enum Processes {
    /// How long this process has computed. Units: seconds.
    static var own: Double {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return usage.ru_utime.seconds + usage.ru_stime.seconds
    }

    /// How long the ended children of a process have computed. Units: seconds.
    static func ended(childrenOf process: pid_t) -> Double {
        guard let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        else {
            return 0
        }
        // Behind the name, which may hold anything, in parentheses.
        let fields = line.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 14, let user = Double(fields[13]), let system = Double(fields[14])
        else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Runs a program to its end; the most that it held in memory. Units: MiB.
    static func peak(_ program: String, _ arguments: [String]) throws -> Double {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        var most = 0.0
        while process.isRunning {
            most = max(most, highWater(process.processIdentifier))
            usleep(2_000)
        }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchError.unexpected("\(arguments) ended with \(process.terminationStatus)")
        }
        return most
    }

    /// The most that a process has held in memory so far. Units: MiB.
    static func highWater(_ process: pid_t) -> Double {
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
            let number = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
            return (number.flatMap { Double($0) } ?? 0) / 1_024
        }
        return 0
    }
}

extension timeval {
    fileprivate var seconds: Double { Double(tv_sec) + Double(tv_usec) / 1e6 }
}
