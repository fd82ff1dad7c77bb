// Opens every page of the built site in Chromium, on a desk's screen, a phone's and in the dark.
//
//     npm install playwright-core && node docs/site/look.mjs build/site SCREENSHOTS
//
// Says what a console says, which requests leave the site, and which pages are wider than the
// window; exits 1 if there is any. CHROMIUM names the browser, by default /usr/bin/chromium.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { chromium } from "playwright-core";

const [root, screenshots] = process.argv.slice(2);
const SHOWN = ["index", "docs/cluster", "docs/evaluation", "docs/reference/encoders", "docs/reference/tasks"];
const VIEWS = {
  desk: { viewport: { width: 1360, height: 900 }, colorScheme: "light" },
  dark: { viewport: { width: 1360, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: "light" },
};
const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml" };

const server = http.createServer((request, response) => {
  const file = path.join(root, decodeURIComponent(new URL(request.url, "http://site").pathname));
  fs.readFile(file, (error, content) => {
    response.writeHead(error ? 404 : 200, { "content-type": TYPES[path.extname(file)] ?? "" });
    response.end(content);
  });
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const site = `http://127.0.0.1:${server.address().port}/`;
const pages = fs.readdirSync(root, { recursive: true }).filter((name) => name.endsWith(".html") && !name.startsWith("_"));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const found = [];
fs.mkdirSync(screenshots, { recursive: true });
for (const [view, options] of Object.entries(VIEWS)) {
  const page = await (await browser.newContext(options)).newPage();
  const note = (kind, text) => found.push(`${view} ${page.url().slice(site.length)}: ${kind} ${text}`);
  page.on("console", (said) => ["error", "warning"].includes(said.type()) && note("console", said.text()));
  page.on("pageerror", (error) => note("error", error.message));
  page.on("request", (asked) => asked.url().startsWith(site) || asked.url().startsWith("data:") || note("request to", asked.url()));
  for (const name of pages) {
    await page.goto(site + name);
    const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (excess > 0) note("wider than the window by", excess);
    const short = name.replace(".html", "");
    if (SHOWN.includes(short)) await page.screenshot({ path: path.join(screenshots, `${view}-${short.replaceAll("/", "-")}.png`) });
  }
  await page.goto(`${site}search.html?q=held+out`);
  await page.waitForSelector("#search-results li", { timeout: 10000 }).catch(() => note("search", "finds nothing"));
  await page.screenshot({ path: path.join(screenshots, `${view}-search.png`) });
}
console.log(`${pages.length} pages, ${Object.keys(VIEWS).length} times`);
console.log(found.join("\n") || "no message, no request elsewhere, nothing too wide");
await browser.close();
server.close();
process.exitCode = found.length ? 1 : 0;
