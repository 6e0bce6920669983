package executor

import "context"

// Storage is the part of an [Executor] that concerns what a site keeps in the
// browser. Its methods are about the site of the tab's top document and no
// other: they take no URL. What lists without values is a read to the [Gate],
// OpRead; values and changes are OpStorage.
//
// Where that document has no site, as a blank page or one that is sandboxed,
// they return ErrNotActionable.
type Storage interface {
	// Cookies lists the cookies that the browser sends with the document's own
	// requests to its site, HttpOnly ones too, by name.
	Cookies(ctx context.Context, tab TabID, opts *CookiesOptions) (*Cookies, error)
	// SetCookie makes or replaces a cookie of the document's site. It returns
	// ErrBadArgs for one that browsers do not take: a bad name or value, a
	// domain that is neither the document's host nor above it or that
	// unrelated sites share, a prefix that the attributes do not keep. It
	// returns ErrPolicyDenied for a domain that the Gate denies.
	SetCookie(ctx context.Context, tab TabID, cookie Cookie) (*Stored, error)
	// DeleteCookies deletes those of the cookies that Cookies lists whose names
	// are given, all of them for nil. Those of a domain above the document's
	// host that the Gate denies are left, and counted.
	DeleteCookies(ctx context.Context, tab TabID, names []string) (*Stored, error)

	// Items lists what the document's origin keeps in an area, by key.
	Items(ctx context.Context, tab TabID, area StorageArea, opts *ItemsOptions) (*Items, error)
	// SetItem keeps a value under a key. It returns ErrNotActionable when the
	// origin has no room for it.
	SetItem(ctx context.Context, tab TabID, area StorageArea, key, value string) (*Stored, error)
	// RemoveItems removes what is kept under keys, everything for nil.
	RemoveItems(ctx context.Context, tab TabID, area StorageArea, keys []string) (*Stored, error)
}

// A StorageArea is one of the two in which an origin keeps items.
type StorageArea string

// The areas.
const (
	StorageLocal   StorageArea = "local"   // stays, and is of all tabs of the origin
	StorageSession StorageArea = "session" // is of one tab, and goes with it
)

// CookiesOptions are the options of [Storage.Cookies].
type CookiesOptions struct {
	Names    []string // list only these; nil is all
	Values   bool     // tell values, which are left out otherwise
	After    string   // list those whose names come after this one
	MaxChars int      // of all that is listed; default DefaultMaxChars
}

// Cookies is what [Storage.Cookies] returns.
type Cookies struct {
	Origin  string   `json:"origin"`
	Cookies []Cookie `json:"cookies"`
	Total   int      `json:"total"`           // with those that are not in Cookies
	After   string   `json:"after,omitempty"` // where the list goes on; empty at its end
}

// A Cookie is one cookie of a site.
type Cookie struct {
	Name     string   `json:"name"`
	Value    string   `json:"value,omitempty"`
	Bytes    int      `json:"bytes"`              // of the value; not read by SetCookie
	Domain   string   `json:"domain,omitempty"`   // with a leading dot, it is of its subdomains too; to SetCookie the dot does not matter, and empty is the document's host alone
	Path     string   `json:"path,omitempty"`     // default "/"
	Expires  int64    `json:"expires,omitempty"`  // seconds since 1970; 0 is when the browser ends
	HTTPOnly bool     `json:"httpOnly,omitempty"` // hidden from the page's scripts
	Secure   bool     `json:"secure,omitempty"`   // sent over https only
	SameSite SameSite `json:"sameSite,omitempty"` // empty is the browser's default
	// Partition is the site under which alone the cookie is sent; not read by
	// SetCookie. Empty is any.
	Partition string `json:"partition,omitempty"`
}

// SameSite says with which requests of other sites a cookie is sent.
type SameSite string

// The values of SameSite.
const (
	SameSiteStrict SameSite = "Strict"
	SameSiteLax    SameSite = "Lax"
	SameSiteNone   SameSite = "None"
)

// ItemsOptions are the options of [Storage.Items].
type ItemsOptions struct {
	Keys     []string // list only these; nil is all
	Values   bool     // tell values, which are left out otherwise
	After    string   // list those whose keys come after this one; empty is from the first
	MaxChars int      // of all that is listed; default DefaultMaxChars
}

// Items is what [Storage.Items] returns.
type Items struct {
	Origin string `json:"origin"`
	Items  []Item `json:"items"`
	Total  int    `json:"total"`           // with those that are not in Items
	After  string `json:"after,omitempty"` // where the list goes on; empty at its end
}

// An Item is a key and what is kept under it.
type Item struct {
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
	Chars int    `json:"chars"`         // of the value, in UTF-16 units
	Cut   bool   `json:"cut,omitempty"` // Value is only the beginning: there is no room for more
}

// Stored is what a change of what a site keeps came to.
type Stored struct {
	Origin string `json:"origin"`
	Count  int    `json:"count"`          // of what was set or removed
	Left   int    `json:"left,omitempty"` // cookies of domains that the policy does not allow
}
