package policy_test

import (
	"errors"
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

func ExampleNew() {
	p, err := policy.New(policy.Config{
		AllowDomains: []string{"example.com", "*.example.com", "localhost"},
		BlockDomains: []string{"ads.example.com"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, url := range []string{"https://www.example.com/a", "http://localhost:8080", "https://ads.example.com/", "https://other.org/x"} {
		canonical, err := p.CheckURL(url)
		if errors.Is(err, executor.ErrPolicyDenied) {
			fmt.Println("denied: ", err)
			continue
		}
		fmt.Println("allowed:", canonical)
	}
	// Output:
	// allowed: https://www.example.com/a
	// allowed: http://localhost:8080/
	// denied:  host "ads.example.com" is blocked by the rule "ads.example.com"
	// denied:  host "other.org" is not in the allow list
}

func ExampleNew_error() {
	_, err := policy.New(policy.Config{AllowDomains: []string{"*.co.uk"}})
	fmt.Println(err)
	// Output: allow domain: "*.co.uk" is a public suffix: unrelated sites share it
}

func ExampleParseFile() {
	c, err := policy.ParseFile("../policy.example.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	flags := policy.Config{AllowDomains: []string{"example.org"}}
	fmt.Println(c.Merge(flags).AllowDomains)
	// Output: [example.com *.example.com localhost example.org]
}

func ExamplePattern_Allows() {
	p, _ := policy.ParsePattern("*.example.com")
	for _, s := range []string{"https://a.example.com/", "https://example.com/", "http://a.example.com/"} {
		u, _ := policy.ParseURL(s)
		fmt.Println(s, p.Allows(u))
	}
	// Output:
	// https://a.example.com/ true
	// https://example.com/ false
	// http://a.example.com/ false
}
