// Package shop is a small web shop that the examples drive: a product page, an order form that asks
// for confirmation in a confirm dialog, and a receipt.
package shop

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net"
	"net/http"
	"sync"
	"time"
)

//go:embed pages
var files embed.FS

var receipt = template.Must(template.ParseFS(files, "pages/receipt.html"))

// An Order is the content of a submitted order form.
type Order struct {
	Number, Name, Email, Country, Date, Shade, Message string
	Gift                                               bool
}

// A Shop serves the pages and stores the orders. The zero value is ready to use. Its methods are
// safe for concurrent use.
type Shop struct {
	mu     sync.Mutex
	orders []Order
}

// Orders returns all orders, the oldest first.
func (s *Shop) Orders() []Order {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Order(nil), s.orders...)
}

// Handler returns the HTTP handler of the shop.
func (s *Shop) Handler() http.Handler {
	pages, err := fs.Sub(files, "pages")
	if err != nil {
		panic(err) // the directory is embedded in the binary
	}
	mux := http.NewServeMux()
	page := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, pages, name) }
	}
	mux.Handle("GET /{$}", page("product.html"))
	mux.Handle("GET /order", page("order.html"))
	mux.Handle("GET /order.js", page("order.js"))
	mux.Handle("GET /style.css", page("style.css"))
	mux.HandleFunc("POST /order", s.place)
	mux.HandleFunc("GET /receipt/{number}", s.receipt)
	return mux
}

func (s *Shop) place(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "invalid form", http.StatusBadRequest)
		return
	}
	order := Order{
		Name:    r.PostForm.Get("name"),
		Email:   r.PostForm.Get("email"),
		Country: countries[r.PostForm.Get("country")],
		Date:    r.PostForm.Get("date"),
		Shade:   r.PostForm.Get("shade"),
		Gift:    r.PostForm.Get("gift") == "yes",
		Message: r.PostForm.Get("message"),
	}
	if order.Name == "" || order.Country == "" || order.Date == "" {
		http.Error(w, "name, country and date are required", http.StatusUnprocessableEntity)
		return
	}
	s.mu.Lock()
	order.Number = fmt.Sprintf("LO-%04d", 1001+len(s.orders))
	s.orders = append(s.orders, order)
	s.mu.Unlock()
	http.Redirect(w, r, "/receipt/"+order.Number, http.StatusSeeOther)
}

func (s *Shop) receipt(w http.ResponseWriter, r *http.Request) {
	for _, order := range s.Orders() {
		if order.Number == r.PathValue("number") {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_ = receipt.Execute(w, order) // the client disconnected
			return
		}
	}
	http.NotFound(w, r)
}

var countries = map[string]string{
	"de": "Germany", "nl": "Netherlands", "no": "Norway", "pt": "Portugal",
}

// Open serves a new shop on a free loopback port. It returns the shop's URL, such as
// "http://127.0.0.1:40123", and a function that stops the server.
func Open() (s *Shop, url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", nil, err
	}
	s = new(Shop)
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(listener) }) // returns ErrServerClosed
	stop = func() {
		_ = server.Close()
		served.Wait()
	}
	return s, "http://" + listener.Addr().String(), stop, nil
}
