package executor

import (
	"context"
	"encoding/json"
	"time"
)

// Storage is the part of a [Page] that reads and changes cookies and web storage. Its methods
// apply only to the site of the tab's top document, and take no URL. Listing without values is
// OpRead to the [Gate]; values and changes are OpStorage.
//
// They return ErrNotActionable if the document has no site, such as a blank or sandboxed page.
type Storage interface {
	// Cookies lists by name the cookies that the browser sends with requests of the document to its
	// own site, including HttpOnly ones.
	Cookies(ctx context.Context, opts *CookiesOptions) (*Cookies, error)
	// SetCookie creates or replaces a cookie of the document's site. It returns ErrBadArgs for a
	// cookie that browsers reject: an invalid name or value, a domain that is neither the
	// document's host nor a parent of it or that unrelated sites share, or a name prefix whose
	// requirements the attributes do not meet. It returns ErrPolicyDenied for a domain that the
	// Gate denies.
	SetCookie(ctx context.Context, cookie Cookie) (*StorageChange, error)
	// DeleteCookies deletes the given names among the cookies that Cookies lists, or all of them if
	// names is nil. Cookies of a parent domain that the Gate denies are skipped and counted.
	DeleteCookies(ctx context.Context, names []string) (*StorageChange, error)

	// Items lists by key the items of the document's origin in an area.
	Items(ctx context.Context, area StorageArea, opts *ItemsOptions) (*Items, error)
	// SetItem sets the value of a key. It returns ErrNotActionable if the quota of the origin is
	// exceeded.
	SetItem(ctx context.Context, area StorageArea, key, value string) (*StorageChange, error)
	// RemoveItems removes the items with the given keys, or all if keys is nil.
	RemoveItems(ctx context.Context, area StorageArea, keys []string) (*StorageChange, error)
}

// A StorageArea is one of the two web storage areas of an origin.
type StorageArea string

// The areas.
const (
	StorageLocal   StorageArea = "local"   // persistent; shared by all tabs of the origin
	StorageSession StorageArea = "session" // belongs to one tab, and is removed with it
)

// CookiesOptions are the options of [Storage.Cookies].
type CookiesOptions struct {
	Names    []string // list only these; nil means all
	Values   bool     // include values
	After    string   // list only names after this one
	MaxChars int      // of the complete list; default DefaultMaxChars
}

// Cookies is the result of [Storage.Cookies].
type Cookies struct {
	Origin  string   `json:"origin"`
	Cookies []Cookie `json:"cookies"`
	Total   int      `json:"total"`           // including those that are not in Cookies
	After   string   `json:"after,omitempty"` // value of CookiesOptions.After for the next part; empty at the end
}

// A Cookie is one cookie of a site.
type Cookie struct {
	Name     string
	Value    string
	Bytes    int       // of the value; not read by SetCookie
	Domain   string    // with a leading dot, subdomains are included; SetCookie ignores the dot, and empty means only the document's host
	Path     string    // default "/"
	Expires  time.Time // without fractions of a second; zero for a session cookie
	HTTPOnly bool      // hidden from the page's scripts
	Secure   bool      // sent over https only
	SameSite SameSite  // empty means the browser's default
	// Partition is the only top-level site under which the cookie is sent. Empty means any.
	// SetCookie ignores it.
	Partition string
}

// cookieJSON is the JSON form of a Cookie.
type cookieJSON struct {
	Name      string   `json:"name"`
	Value     string   `json:"value,omitempty"`
	Bytes     int      `json:"bytes"`
	Domain    string   `json:"domain,omitempty"`
	Path      string   `json:"path,omitempty"`
	Expires   int64    `json:"expires,omitempty"` // seconds since 1970
	HTTPOnly  bool     `json:"httpOnly,omitempty"`
	Secure    bool     `json:"secure,omitempty"`
	SameSite  SameSite `json:"sameSite,omitempty"`
	Partition string   `json:"partition,omitempty"`
}

// MarshalJSON implements json.Marshaler. Expires is in seconds since 1970.
func (c Cookie) MarshalJSON() ([]byte, error) { return json.Marshal(cookieOf(c)) }

// cookieOf returns the JSON form of a cookie.
func cookieOf(c Cookie) cookieJSON {
	j := cookieJSON{
		Name: c.Name, Value: c.Value, Bytes: c.Bytes, Domain: c.Domain, Path: c.Path, HTTPOnly: c.HTTPOnly,
		Secure: c.Secure, SameSite: c.SameSite, Partition: c.Partition,
	}
	if !c.Expires.IsZero() {
		j.Expires = c.Expires.Unix()
	}
	return j
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Cookie) UnmarshalJSON(data []byte) error {
	j := cookieOf(*c)
	err := json.Unmarshal(data, &j)
	var expires time.Time
	if j.Expires != 0 {
		expires = time.Unix(j.Expires, 0)
	}
	*c = Cookie{
		Name: j.Name, Value: j.Value, Bytes: j.Bytes, Domain: j.Domain, Path: j.Path, Expires: expires,
		HTTPOnly: j.HTTPOnly, Secure: j.Secure, SameSite: j.SameSite, Partition: j.Partition,
	}
	return err
}

// SameSite is the SameSite attribute of a cookie.
type SameSite string

// The values of SameSite.
const (
	SameSiteStrict SameSite = "Strict"
	SameSiteLax    SameSite = "Lax"
	SameSiteNone   SameSite = "None"
)

// ItemsOptions are the options of [Storage.Items].
type ItemsOptions struct {
	Keys     []string // list only these; nil means all
	Values   bool     // include values
	After    string   // list only keys after this one; empty means from the first
	MaxChars int      // of the complete list; default DefaultMaxChars
}

// Items is the result of [Storage.Items].
type Items struct {
	Origin string `json:"origin"`
	Items  []Item `json:"items"`
	Total  int    `json:"total"`           // including those that are not in Items
	After  string `json:"after,omitempty"` // value of ItemsOptions.After for the next part; empty at the end
}

// An Item is a key and its value.
type Item struct {
	Key       string `json:"key"`
	Value     string `json:"value,omitempty"`
	Chars     int    `json:"chars"`               // of the value, in UTF-16 units
	Truncated bool   `json:"truncated,omitempty"` // Value is only the start of the value, because of MaxChars
}

// StorageChange is the result of a storage write.
type StorageChange struct {
	Origin         string `json:"origin"`
	Count          int    `json:"count"`                    // number of items set or removed
	SkippedCookies int    `json:"skippedCookies,omitempty"` // cookies of domains that the policy denies
}
