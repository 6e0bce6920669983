package shop

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestOrderGetsReceipt(t *testing.T) {
	s, address, stop, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()

	resp, err := http.PostForm(address+"/order", url.Values{
		"name": {"Ada <b>Lovelace</b>"}, "email": {"ada@example.com"}, "country": {"no"},
		"date": {"2027-01-15"}, "shade": {"paper"}, "gift": {"yes"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"LO-1001", "Ada &lt;b&gt;Lovelace", "Norway", "2027-01-15", "paper shade", "€ 93.00"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%q not found in the receipt:\n%s", want, body)
		}
	}
	if got := s.Orders(); len(got) != 1 || !got[0].Gift {
		t.Errorf("Orders() = %+v, want one with gift wrap", got)
	}
}

func TestPages(t *testing.T) {
	_, address, stop, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for path, want := range map[string]int{
		"/": 200, "/order": 200, "/order.js": 200, "/style.css": 200, "/receipt/LO-9999": 404, "/receipt.html": 404,
	} {
		resp, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("GET %s = %d, want %d", path, resp.StatusCode, want)
		}
	}

	resp, err := http.PostForm(address+"/order", url.Values{"name": {"Ada"}, "country": {"xx"}, "date": {"2027-01-15"}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("order to an invalid URL = %d, want 422", resp.StatusCode)
	}
}
