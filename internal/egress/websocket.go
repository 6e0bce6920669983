package egress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

var errNotUpgrade = errors.New("the tunnel carries neither TLS nor a WebSocket request")

// serveOpenTunnel copies between client, which has received the response to CONNECT, and origin.
// Chromium also opens tunnels for ws. A client that starts with plain text must send a WebSocket
// request. Its path is checked before anything is sent to origin, and the tunnel carries no second
// request.
func (p *Proxy) serveOpenTunnel(r *http.Request, t hostPort, client net.Conn, from *bufio.Reader, origin net.Conn) {
	_ = client.SetReadDeadline(time.Now().Add(headerTimeout)) // Peek returns any error
	first, err := from.Peek(1)
	if err != nil {
		return
	}
	if certificate, ok := p.certificate(t); ok && first[0] == handshakeRecord {
		p.serveTLS(r.Context(), t, certificate, client, from, origin)
		return
	}
	if !isText(first[0]) {
		pipeFrom(from, client, origin)
		return
	}
	header, path, err := readUpgrade(from)
	if err != nil {
		respondTunnel(client, http.StatusBadRequest, "Bad request: "+err.Error())
		return
	}
	if denied := p.checkPolicy("http", t, path); denied != nil {
		p.recordDenied(r.Context(), t, denied)
		respondTunnel(client, http.StatusForbidden, denied.text())
		return
	}
	if _, err := origin.Write(header); err == nil {
		upgrade(client, from, origin)
	}
}

// pipeFrom is like pipe for a client whose first bytes are buffered in from.
func pipeFrom(from *bufio.Reader, client, origin net.Conn) {
	_ = client.SetReadDeadline(time.Time{}) // pipe handles any error
	early, _ := from.Peek(from.Buffered())  // cannot fail: they are buffered
	if _, err := origin.Write(early); err == nil {
		pipe(plain(client), plain(origin))
	}
}

// handshakeRecord is the first byte of a TLS connection.
const handshakeRecord = 0x16

// isText reports whether an HTTP request may begin with b, for a server that skips
// white space. TLS begins with 0x16, STUN with 0 or 1.
func isText(b byte) bool { return b >= ' ' || b >= '\t' && b <= '\r' }

// readUpgrade reads the header of a WebSocket request. It returns the header as
// sent, and the path of the request.
func readUpgrade(from *bufio.Reader) (header []byte, path string, err error) {
	for !bytes.HasSuffix(header, []byte("\r\n\r\n")) {
		part, err := from.ReadSlice('\n')
		header = append(header, part...)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) || len(header) > maxHeaderBytes {
			return nil, "", errNotUpgrade
		}
	}
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(header)))
	if err != nil || r.Method != http.MethodGet || !strings.HasPrefix(r.RequestURI, "/") || r.Header.Get("Upgrade") == "" ||
		r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
		return nil, "", errNotUpgrade
	}
	path, _, _ = strings.Cut(r.RequestURI, "?")
	return header, path, nil
}

// upgrade forwards the origin's response to a WebSocket request. If the origin
// switches protocols, upgrade then copies in both directions.
func upgrade(client net.Conn, from *bufio.Reader, origin net.Conn) {
	_ = client.SetReadDeadline(time.Time{}) // Peek returns any error
	var waiting sync.WaitGroup
	waiting.Go(func() {
		// The client waits for the response or closes the connection.
		if _, err := from.Peek(1); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			_ = origin.Close()
		}
	})
	defer waiting.Wait()
	defer client.Close()

	const switching = "HTTP/1.1 101"
	response := bufio.NewReaderSize(origin, len(switching))
	if first, err := response.Peek(len(switching)); err != nil || string(first) != switching {
		_ = forwardResponse(client, response) // a closed client needs no response
		return
	}
	_ = client.SetReadDeadline(time.Unix(1, 0)) // ends the wait above
	waiting.Wait()
	early, _ := response.Peek(response.Buffered()) // cannot fail: they are buffered
	if _, err := client.Write(early); err == nil {
		pipeFrom(from, client, origin)
	}
}

// forwardResponse forwards a complete response, after which the connection closes.
func forwardResponse(client io.Writer, from io.Reader) error {
	limited := &io.LimitedReader{R: from, N: maxHeaderBytes}
	res, err := http.ReadResponse(bufio.NewReader(limited), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	limited.N = math.MaxInt64
	res.Close = true
	return res.Write(client)
}

// respondTunnel responds to a request in a tunnel, which then closes.
func respondTunnel(client io.Writer, status int, text string) {
	res := http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Body: io.NopCloser(strings.NewReader(text + "\n")), ContentLength: int64(len(text) + 1),
	}
	_ = res.Write(client) // a closed client needs no response
}
