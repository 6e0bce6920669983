package obstacle

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// Phrases of obstacle pages, as pagetext.FoldCase returns them and with straight apostrophes, in
// English, German, French, Spanish, Italian, Dutch, Portuguese and Japanese.
var (
	// checkTitles are the beginnings of titles of pages that check the browser automatically.
	checkTitles = []string{
		"just a moment", "nur einen moment", "einen moment bitte", "un instant", "un momento", "een moment", "um momento", "しばらくお待ちください",
		"attention required! | cloudflare", "ddos-guard", "checking your browser", "pardon our interruption", "human verification", "security check",
	}
	// robotWords ask whether the visitor is human.
	robotWords = []string{
		"you are human", "you're human", "you are a human", "not a robot", "not a bot", "are you a robot", "are you human", "press & hold", "press and hold",
		"unusual traffic", "automated queries", "type the characters you see", "enter the characters you see", "slide right to", "slide to verify", "drag the slider",
		"complete the security check", "security of your connection", "solve the puzzle", "verify you are", "enable javascript and cookies to continue",
		"kein roboter", "ein mensch sind", "mensch bist", "sicherheit ihrer verbindung", "sicherheit deiner verbindung",
		"pas un robot", "êtes humain", "êtes un humain", "êtes bien humain", "no eres un robot", "no soy un robot", "eres humano", "es humano",
		"non sei un robot", "non sono un robot", "sei umano", "geen robot", "u een mens bent", "je een mens bent",
		"não é um robô", "não sou um robô", "é humano", "ロボットではない", "人間であること", "接続のセキュリティ",
	}
	// deniedHeads are the beginnings of titles or headings of denials.
	deniedHeads = []string{
		"access denied", "access to this page has been denied", "access to this page has been blocked", "access blocked", "access forbidden", "403", "error 403", "http 403", "forbidden",
		"you have been blocked", "sorry, you have been blocked", "your access has been blocked", "request blocked", "the request could not be satisfied",
		"you don't have permission", "you do not have permission", "permission denied", "request unsuccessful. incapsula",
		"zugriff verweigert", "zugriff nicht erlaubt", "kein zugriff", "accès refusé", "accès interdit", "acceso denegado", "acceso prohibido",
		"accesso negato", "toegang geweigerd", "geen toegang", "acesso negado", "アクセスが拒否", "アクセス拒否", "アクセスできません",
	}
	// deniedWords are in the texts of denials, next to such a heading.
	deniedWords = []string{
		"permission", "reference #", "ray id", "request id", "incident id", "administrator", "blocked", "not authorized", "not allowed", "denied", "forbidden", "security service",
		"berechtigung", "verweigert", "gesperrt", "autorisation", "autorisé", "refusé", "permiso", "denegado", "autorizado", "permesso", "negato", "autorizzato",
		"toestemming", "geweigerd", "permissão", "negado", "権限", "拒否", "許可",
	}
	tooManyHeads = []string{"429", "too many requests", "rate limit", "you have been rate limited", "zu viele anfragen", "trop de requêtes", "demasiadas solicitudes", "troppe richieste", "te veel verzoeken", "muitas solicitações", "リクエストが多すぎ"}
	legalHeads   = []string{"451", "unavailable for legal reasons", "unavailable due to legal reasons", "aus rechtlichen gründen"}

	// loginWords are phrases for logging in.
	loginWords = []string{
		"sign in", "sign-in", "signin", "sign on", "log in", "log-in", "login", "log on", "logon",
		"anmelden", "anmeldung", "einloggen", "melden sie sich an", "melde dich an", "connexion", "se connecter", "connectez-vous", "identifiez-vous", "s'identifier",
		"iniciar sesión", "inicia sesión", "inicie sesión", "identifícate", "accedi", "accesso", "effettua il login", "inloggen", "aanmelden", "log in",
		"iniciar sessão", "inicie sessão", "fazer login", "faça login", "entrar", "acessar sua conta", "ログイン", "サインイン",
	}
	// signupWords are phrases for creating an account.
	signupWords = []string{
		"sign up", "sign-up", "signup", "create account", "create an account", "create your account", "register", "registration", "join now", "get started",
		"registrieren", "konto erstellen", "konto anlegen", "inscription", "s'inscrire", "inscrivez-vous", "créer un compte", "créez votre compte",
		"crear cuenta", "crea una cuenta", "crea tu cuenta", "regístrate", "registrarse", "registrati", "crea un account", "crea il tuo account",
		"registreren", "account aanmaken", "criar conta", "crie sua conta", "cadastre-se", "新規登録", "会員登録", "アカウントを作成", "アカウント作成",
	}
	// passwordWords are phrases for managing a password.
	passwordWords = []string{
		"change password", "change your password", "reset password", "reset your password", "new password", "forgot", "passwort ändern", "passwort zurücksetzen", "neues passwort",
		"mot de passe oublié", "modifier le mot de passe", "changer le mot de passe", "réinitialiser", "cambiar contraseña", "cambiar la contraseña", "restablecer",
		"cambia password", "modifica password", "wachtwoord wijzigen", "alterar senha", "redefinir", "パスワードの変更", "パスワードを変更", "再設定",
	}
	// continueWords ask to log in, sign up or pay to see the rest.
	continueWords = []string{
		"log in to continue", "sign in to continue", "login to continue", "sign up to continue", "register to continue", "subscribe to continue", "log in to see", "sign up to see",
		"sign in to see", "log in to view", "sign in to view", "sign up to view", "log in or sign up to", "sign in or create an account to", "create an account to", "create a free account to",
		"you must log in", "you must be logged in", "you need to log in", "please log in to", "please sign in to", "to continue reading", "to keep reading", "to read the full",
		"session has expired", "session expired",
		"melde dich an, um", "melden sie sich an, um", "anmelden, um", "einloggen, um", "um weiterzulesen", "sitzung ist abgelaufen",
		"connectez-vous pour", "identifiez-vous pour", "inscrivez-vous pour", "pour continuer la lecture", "pour lire la suite", "session a expiré",
		"inicia sesión para", "inicie sesión para", "regístrate para", "para seguir leyendo", "sesión ha caducado", "accedi per", "registrati per", "iscriviti per", "per continuare a leggere",
		"log in om", "meld je aan om", "inloggen om", "om verder te lezen", "faça login para", "inicie sessão para", "entre para", "para continuar lendo", "ログインして", "会員限定", "続きを読むには",
	}
	cookieWords = []string{
		"cookie", "consent", "your privacy", "privacy choices", "personal data", "partners", "datenschutz", "einwilligung", "vie privée", "données personnelles", "privacidad", "datos personales",
		"dati personali", "consenso", "privacyverklaring", "persoonsgegevens", "privacidade", "dados pessoais", "クッキー", "個人情報",
	}
	acceptWords = []string{
		"accept", "agree", "allow all", "allow cookies", "got it", "akzeptieren", "zustimmen", "einverstanden", "erlauben", "zulassen", "accepter", "autoriser", "j'accepte", "aceptar", "acepto", "permitir",
		"accetta", "accetto", "acconsento", "akkoord", "accepteren", "toestaan", "aceitar", "aceito", "concordo", "同意", "許可", "承諾",
	}
	beforeHeads = []string{
		"before you continue", "bevor sie fortfahren", "bevor sie weitergehen", "bevor du weitermachst", "avant de continuer", "avant d'accéder", "antes de continuar", "antes de ir", "prima di continuare",
		"voordat je verdergaat", "voordat u verdergaat", "続行する前に", "we value your privacy", "your privacy choices", "ihre privatsphäre", "wir schätzen ihre privatsphäre",
	}
	// consentNames are the beginnings of ids and classes of common consent managers.
	consentNames = []string{
		"onetrust", "ot-sdk", "cybotcookiebot", "didomi", "usercentrics", "qc-cmp", "sp_message", "truste", "trustarc", "cmpbox", "cmpwrapper", "klaro", "cookie-modal",
		"osano", "iubenda-cs", "borlabs", "cookiescript", "cky-", "termly", "fc-consent", "axeptio", "tarteaucitron", "cc-window",
		"cookie-consent", "cookieconsent", "cookie_consent", "cookie-wall", "cookiewall", "cookie-banner",
	}
)

var apostrophes = strings.NewReplacer("\u2019", "'", "\u2018", "'")

// normal returns s in the form of the phrases.
func normal(s string) string { return pagetext.FoldCase(apostrophes.Replace(s)) }

// has reports whether s, in normal form, contains one of the phrases. A Latin phrase must start at
// a word boundary, but need not end at one: "cookie" is in "cookies", "sign in" is not in "design
// in".
func has(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return begins(s, w, false) })
}

// containsWord is has for complete words.
func containsWord(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return begins(s, w, true) })
}

func begins(s, word string, whole bool) bool {
	for at := 0; ; {
		i := strings.Index(s[at:], word)
		if i < 0 {
			return false
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(s[:at])
		first, size := utf8.DecodeRuneInString(word)
		after, _ := utf8.DecodeRuneInString(s[at+len(word):])
		last, _ := utf8.DecodeLastRuneInString(word)
		if !joined(before, first) && !(whole && joined(last, after)) {
			return true
		}
		at += size
	}
}

// joined reports whether two runes are adjacent in a word of a script that separates words.
func joined(a, b rune) bool {
	return unicode.IsLetter(a) && unicode.IsLetter(b) && a < 0x2e80 && b < 0x2e80
}

// startsWithAny reports whether s, in normal form, starts with one of the heads, which must end at
// a word boundary.
func startsWithAny(s string, heads []string) bool {
	for _, h := range heads {
		rest, ok := strings.CutPrefix(s, h)
		if ok && (rest == "" || !isLetter(rest[0]) || !isLetter(h[len(h)-1])) {
			return true
		}
	}
	return false
}

// isLetter reports whether b is part of an ASCII word.
func isLetter(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= '0' && b <= '9'
}
