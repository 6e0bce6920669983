package leaktest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The names of the test sites. All of them resolve to this machine.
const (
	homeHost   = "home.test"       // the page's host, allowed
	allyHost   = "ally.test"       // another site, allowed
	deniedHost = "denied.test"     // another site, denied
	otherHost  = "stranger.test"   // another site, neither in the policy nor a target
	belowHost  = "below.home.test" // a denied subdomain of the page's host
	dnsSuffix  = ".names.test"     // names that do not resolve
	privateIP  = "127.0.0.1"       // an address that no pattern allows
	public     = "93.184.215.14"   // the address of all names, as the policy sees it
)

// A site serves the pages that the routes start on, and has all their targets.
type site struct {
	server  *http.Server
	port    int
	tls     *tls.Config
	key     string // hash of the certificate's key, which browsers are configured to trust
	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	targets []*target
	visits  map[string]*visit
}

// A visit is one trial of a route.
type visit struct {
	id     string
	route  *Route
	target *target
	port   int           // of the site
	tried  chan struct{} // closed when the page has done what it can
	once   sync.Once

	mu    sync.Mutex
	asked map[string]int // number of requests for each file
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{visits: map[string]*visit{}}
	s.certify(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	s.server = &http.Server{Handler: http.HandlerFunc(s.serve), ErrorLog: log.New(io.Discard, "", 0)}
	s.running.Go(func() { s.server.Serve(tls.NewListener(l, s.tls)) })
	t.Cleanup(func() {
		s.server.Close()
		for _, tg := range s.targets {
			tg.close()
		}
		s.running.Wait()
	})
	return s
}

// certify creates a certificate for all names. It is valid for a few days, because WebTransport
// rejects certificates with a longer validity.
func (s *site) certify(t testing.TB) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "leaktest"},
		NotBefore: time.Now().AddDate(0, 0, -1), NotAfter: time.Now().AddDate(0, 0, 9),
		DNSNames:    []string{homeHost, allyHost, deniedHost, otherHost, belowHost, "*" + dnsSuffix},
		IPAddresses: []net.IP{net.ParseIP(privateIP)},
		KeyUsage:    x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(spki)
	s.key = base64.StdEncoding.EncodeToString(sum[:])
	s.tls = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"http/1.1"}}
}

// newVisit registers the pages of a route to a target.
func (s *site) newVisit(r *Route, tg *target) *visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &visit{id: "v" + strconv.Itoa(len(s.visits)), route: r, target: tg, port: s.port, tried: make(chan struct{}), asked: map[string]int{}}
	s.visits[v.id] = v
	return v
}

// origin returns the origin of a host of the site.
func (s *site) origin(host string) string { return fmt.Sprintf("https://%s:%d", host, s.port) }

// url returns the URL of the page that the visit starts on.
func (v *visit) url() string { return fmt.Sprintf("https://%s:%d/%s/", homeHost, v.port, v.id) }

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	id, file, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	v := s.visits[id]
	s.mu.Unlock()
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Access-Control-Allow-Origin", "*")
	if v == nil {
		http.NotFound(w, r)
		return
	}
	if file == "tried" {
		v.once.Do(func() { close(v.tried) })
		return
	}
	v.mu.Lock()
	v.asked[file]++
	n := v.asked[file]
	v.mu.Unlock()
	if serve := v.route.files[file]; serve != nil {
		serve(v, w, r, n)
		return
	}
	for name, value := range v.route.headers {
		h.Set(name, v.fill(value))
	}
	h.Set("Content-Type", "text/html")
	switch {
	case strings.HasSuffix(file, ".js"):
		h.Set("Content-Type", "text/javascript")
		io.WriteString(w, v.fill(v.route.worker))
	case file == "inner":
		io.WriteString(w, v.fill("<!doctype html><title>inner</title>"+v.route.inner))
	case file == "next":
		io.WriteString(w, v.fill("<!doctype html><title>next</title>"+v.route.next))
	default:
		io.WriteString(w, v.fill(page(v.route)))
	}
}

// page returns the HTML of the page that a route starts on.
func page(r *Route) string {
	html := "<!doctype html><meta charset=utf-8><title>" + r.Name + "</title>" + r.head + "<body><button id=go>Go</button>" + r.body + `
<script type=module>
const tried = () => fetch('{V}/tried', {method: 'POST', keepalive: true});
const within = (p, ms) => Promise.race([p, new Promise((r) => setTimeout(r, ms))]);
const repeat = async (f) => { for (let i = 0; i < 10; i++) { f(); await within(new Promise(() => {}), 300); } };
const act = async () => {
` + r.script + "\n};\n"
	loaded := "if (document.readyState !== 'complete') await within(new Promise((r) => addEventListener('load', r)), 3000);\n"
	run := loaded + "await within(act(), 5000);\nawait tried();\n"
	if r.gesture {
		run = "document.querySelector('#go').addEventListener('click', async () => {\n" + run + "}, {once: true});\n"
	}
	return html + run + "</script>"
}

// fill replaces the placeholders in a text: {T} is the target's URL with the route's name, {A} its
// host and port, {I} the same with an IP address as the host, {V} the URL of the visit, {Y} and {X}
// the same on allyHost and otherHost, and {ID} the id of the visit.
func (v *visit) fill(text string) string {
	port := strconv.Itoa(v.port)
	return strings.NewReplacer(
		"{T}", "https://"+v.target.addr()+"/"+v.route.Name,
		"{A}", v.target.addr(),
		"{I}", fmt.Sprintf("%s:%d", outward(), v.target.port),
		"{V}", "https://"+homeHost+":"+port+"/"+v.id,
		"{Y}", "https://"+allyHost+":"+port+"/"+v.id,
		"{X}", "https://"+otherHost+":"+port+"/"+v.id,
		"{ID}", v.id,
	).Replace(text)
}

// outward returns an address of this machine on a network interface, because WebRTC never sends
// packets to a loopback address.
var outward = sync.OnceValue(func() string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return privateIP
})
