// Package shop is a small web shop for the examples to drive: a product page,
// an order form that asks once more in a confirm dialog, and a receipt.
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

// An Order is what a customer sent with the order form.
type Order struct {
	Number, Name, Email, Country, Date, Shade, Message string
	Gift                                               bool
}

// A Shop serves the pages and remembers the orders. The zero value is ready;
// its methods are safe for concurrent use.
type Shop struct {
	mu     sync.Mutex
	orders []Order
}

// Orders returns the orders placed so far, the oldest first.
func (s *Shop) Orders() []Order {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Order(nil), s.orders...)
}

// Handler serves the shop.
func (s *Shop) Handler() http.Handler {
	pages, err := fs.Sub(files, "pages")
	if err != nil {
		panic(err) // the folder is part of the binary
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
		http.Error(w, "the form could not be read", http.StatusBadRequest)
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
		http.Error(w, "name, country and date are needed", http.StatusUnprocessableEntity)
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
			_ = receipt.Execute(w, order) // the customer went away
			return
		}
	}
	http.NotFound(w, r)
}

var countries = map[string]string{
	"de": "Germany", "nl": "Netherlands", "no": "Norway", "pt": "Portugal",
}

// Open serves a new shop on a free loopback port, and returns its address,
// such as "http://127.0.0.1:40123", and what closes it.
func Open() (s *Shop, url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", nil, err
	}
	s = new(Shop)
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(listener) }) // ends with ErrServerClosed
	stop = func() {
		_ = server.Close()
		served.Wait()
	}
	return s, "http://" + listener.Addr().String(), stop, nil
}
