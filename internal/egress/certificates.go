package egress

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"time"
)

// certificates are the certificates that a proxy presents in place of those of the servers of
// Options.AcceptCertificates. All have the same key, which is never stored. Clients that trust the
// key accept only these servers in addition: no other server has the key.
type certificates struct {
	key      string                     // hash of the key
	byServer map[string]tls.Certificate // by host:port
}

// CheckServer returns an error unless server can be one of Options.AcceptCertificates.
func CheckServer(server string) error {
	_, err := parseHostPort(server, 443)
	if err != nil {
		err = fmt.Errorf("server %q: %w", server, err)
	}
	return err
}

// newCertificates returns a certificate for each host:port.
func newCertificates(servers []string) (*certificates, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(public)
	c := &certificates{base64.StdEncoding.EncodeToString(hash[:]), map[string]tls.Certificate{}}
	for i, server := range servers {
		t, err := parseHostPort(server, 443)
		if err != nil {
			return nil, fmt.Errorf("server %q: %w", server, err)
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 1)), Subject: pkix.Name{CommonName: "chrome-mcp egress proxy"},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}
		if t.addr.IsValid() {
			template.IPAddresses = []net.IP{t.addr.AsSlice()}
		} else {
			template.DNSNames = []string{t.host}
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			return nil, err
		}
		leaf, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		c.byServer[t.String()] = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	}
	return c, nil
}

// CertificateKey returns the hash of the key of the certificates that the proxy presents in place of
// those of the servers of Options.AcceptCertificates: the SHA-256 of its SubjectPublicKeyInfo in
// base64, as in Chromium's --ignore-certificate-errors-spki-list. Without such servers it is empty.
func (p *Proxy) CertificateKey() string {
	if p.certificates == nil {
		return ""
	}
	return p.certificates.key
}

// ClientTLS returns the configuration of a client that accepts these certificates and those that the
// system trusts, or nil without servers of Options.AcceptCertificates.
func (p *Proxy) ClientTLS() *tls.Config {
	if p.certificates == nil {
		return nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	for _, c := range p.certificates.byServer {
		roots.AddCert(c.Leaf)
	}
	return &tls.Config{RootCAs: roots}
}

// certificate returns the certificate that the proxy presents in place of that of t, if any.
func (p *Proxy) certificate(t hostPort) (c tls.Certificate, ok bool) {
	if p.certificates != nil {
		c, ok = p.certificates.byServer[t.String()]
	}
	return c, ok
}

// serveTLS copies between client and origin, the connections of a tunnel to t, which carries TLS. It
// presents certificate to the client, and accepts every certificate of the origin.
func (p *Proxy) serveTLS(ctx context.Context, t hostPort, certificate tls.Certificate, client net.Conn, from *bufio.Reader, origin net.Conn) {
	_ = client.SetReadDeadline(time.Time{}) // the context bounds the handshakes
	ctx, cancel := context.WithTimeout(ctx, headerTimeout)
	defer cancel()
	var server *tls.Conn
	browser := tls.Server(bufferedConn{client, from}, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		server = tls.Client(origin, &tls.Config{ServerName: t.host, NextProtos: hello.SupportedProtos, InsecureSkipVerify: true})
		if err := server.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		config := &tls.Config{Certificates: []tls.Certificate{certificate}}
		if protocol := server.ConnectionState().NegotiatedProtocol; protocol != "" {
			config.NextProtos = []string{protocol}
		}
		return config, nil
	}})
	if err := browser.HandshakeContext(ctx); err != nil {
		p.log.DebugContext(ctx, "TLS handshake failed", "host", t.host, "port", t.port, "error", err)
		return
	}
	pipe(browser, server)
}

// A bufferedConn is a connection whose first bytes are buffered.
type bufferedConn struct {
	net.Conn
	from *bufio.Reader
}

func (c bufferedConn) Read(b []byte) (int, error) { return c.from.Read(b) }
