// Package bridge is the server that the extension in a user's own Chrome connects to.
//
// A [Server] listens on loopback, and writes its port and a token to a file that only its user can
// read. The extension receives both by native messaging ([ServeNative]), or uses its own key from a
// pairing string. Both sides prove that they have the key; the key itself is never sent. Then the
// connection is a [Conn]: it sends commands to one installation of the extension, and receives
// events from it.
//
// These rules apply to every process that connects:
//
//   - The server accepts only the extension with the pinned id, on a loopback address, with its own
//     port in the Host header.
//   - Before the proof, messages are small, deadlines are short and connections are few. An error
//     closes that connection and no other.
//   - Only the same installation can replace its own connection.
//   - Deletion of the handshake file, [Server.Rotate] and [Server.Close] close every connection
//     within a second.
//   - No token, key or pairing string appears in a log, an error or a URL.
//
// Every error is an *errs.Error, unless its function says otherwise.
package bridge
