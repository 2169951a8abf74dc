import Daemon
import Foundation

let code = await Program.run(Array(CommandLine.arguments.dropFirst()))
// Loops may still run on threads of their own: `exit` would take libraries down under them.
fflush(nil)
_exit(code)
