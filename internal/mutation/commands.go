package mutation

var commands = promises{
	"`chrome-mcp read` without a browser requests only": {
		{
			File: "internal/readcmd/http.go",
			Old:  "text, err := r.guard.Policy().CheckURL(raw)\n",
			New:  "text, err := raw, error(nil)\n",
			Test: "^TestReadHTTPDenied$",
		},
		{
			File: "internal/readcmd/http.go",
			Old:  "transport.Proxy = http.ProxyURL(proxy.Client())",
			New:  "transport.Proxy = nil",
			Test: "^TestReadHTTPDenied$",
		},
		{
			File: "internal/readcmd/http.go",
			Old:  "res, err := transport.RoundTrip(req)",
			New:  "res, err := (&http.Client{Transport: transport}).Do(req)",
			Test: "^TestReadHTTPDenied$",
		},
	},
	"`chrome-mcp install` and `doctor --fix` extract only": {
		{
			File: "internal/chromefortesting/download.go",
			Old:  "if !bytes.Equal(sum.hash.Sum(nil), sum.want) {",
			New:  "if len(sum.want) > 99 && bytes.Equal(nil, sum.want) {",
			Test: "^TestInstallBadArchive$",
		},
		{
			File: "internal/chromefortesting/download.go",
			Old:  "case len(sums) == 0:",
			New:  "case len(sums) < 0:",
			Test: "^TestInstallBadArchive$",
		},
		{
			File: "internal/chromefortesting/unzip.go",
			Old:  "if _, err := root.Stat(f.Name); err != nil {",
			New:  "if _, err := root.Stat(f.Name); err != nil && f.Name == \"\" {",
			Test: "^TestInstallBadArchive$",
		},
		{
			File: "internal/chromefortesting/download.go",
			Old:  "u.Scheme == \"https\" || u.Scheme == \"http\" && (addr.IsLoopback() || u.Hostname() == \"localhost\")",
			New:  "u.Scheme == \"https\" || u.Scheme == \"http\" && (addr.IsValid() || u.Hostname() == \"localhost\")",
			Test: "^TestInstallBadArchive$",
		},
	},
}
