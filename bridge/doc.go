// Package bridge is the server to which the extension in a user's own Chrome
// connects.
//
// A [Server] listens on loopback and leaves its port and a token in a file
// that only its user can read. The extension gets them by native messaging
// ([ServeNative]), or was given a key of its own by a pairing string. Both
// sides prove that they hold the key; the key itself is never sent. From then
// on the connection is an [Instance]: one installation of the extension, to
// which commands go and from which events come.
//
// What holds, whoever dials:
//
//   - only the extension with the pinned id is spoken to, on a loopback
//     address with our own port in Host;
//   - before the proof there are small frames, short deadlines and few
//     connections, and whatever is wrong ends that connection and no other;
//   - only the same installation replaces its own connection;
//   - deleting the handshake file, [Server.Rotate] and [Server.Close] end every
//     session within a second;
//   - no token, key or pairing string is in a log, an error or a URL.
//
// Every error is an *executor.Error, unless its function says otherwise.
package bridge
