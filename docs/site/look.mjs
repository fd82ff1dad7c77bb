// Opens pages in Chromium as a reader does: on a desk's screen, in the dark, on a phone, for print.
//
//     npm install playwright-core && node docs/site/look.mjs build/site SCREENSHOTS
//     node docs/site/look.mjs data/work/reports/… SCREENSHOTS       (or one file: …/report.html)
//
// Of a folder every page is opened. Says what a console says, which requests leave the folder, and
// which pages open a dialog or are wider than the window; exits 1 if there is any. Of few pages screenshots are whole, of a site those of SHOWN are one screen high.
// CHROMIUM names the browser, by default /usr/bin/chromium.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { chromium } from "playwright-core";

const [asked, screenshots] = process.argv.slice(2);
if (!asked || !screenshots || !fs.existsSync(asked)) {
  console.error("give a folder or a file of pages that exists, and a folder for the screenshots");
  process.exit(2);
}
const SHOWN = ["index", "docs/cluster", "docs/evaluation", "docs/reference/encoders", "docs/reference/tasks"];
const FEW = 5;
const VIEWS = {
  desk: { viewport: { width: 1360, height: 900 }, colorScheme: "light" },
  dark: { viewport: { width: 1360, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: "light", deviceScaleFactor: 2 },
  print: { viewport: { width: 760, height: 1075 }, colorScheme: "dark" }, // A4 between its margins
};
const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml" };

const isFile = fs.statSync(asked).isFile();
const root = isFile ? path.dirname(asked) : asked;
const pages = isFile
  ? [path.basename(asked)]
  : fs.readdirSync(root, { recursive: true }).filter((name) => name.endsWith(".html") && !name.startsWith("_"));
const isFew = pages.length <= FEW;
const server = http.createServer((request, response) => {
  const file = path.join(root, decodeURIComponent(new URL(request.url, "http://site").pathname));
  fs.readFile(file, (error, content) => {
    response.writeHead(error ? 404 : 200, { "content-type": TYPES[path.extname(file)] ?? "" });
    response.end(content);
  });
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const site = `http://127.0.0.1:${server.address().port}/`;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const found = [];
fs.mkdirSync(screenshots, { recursive: true });
for (const [view, options] of Object.entries(VIEWS)) {
  const page = await (await browser.newContext(options)).newPage();
  const note = (kind, text) => found.push(`${view} ${decodeURIComponent(page.url().slice(site.length))}: ${kind} ${text}`);
  page.on("console", (said) => ["error", "warning"].includes(said.type()) && note("console", said.text()));
  page.on("pageerror", (error) => note("error", error.message));
  page.on("dialog", (dialog) => { note("dialog", dialog.message()); dialog.dismiss(); });
  page.on("request", (sent) => sent.url().startsWith(site) || sent.url().startsWith("data:") || note("request to", sent.url()));
  if (view === "print") await page.emulateMedia({ media: "print" });
  for (const name of pages) {
    await page.goto(site + name.split("/").map(encodeURIComponent).join("/"));
    const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (excess > 0) note("wider than the window by", excess);
    const short = name.replace(".html", "");
    const to = (suffix) => path.join(screenshots, `${view}-${short.replaceAll("/", "-")}.${suffix}`);
    if (isFew || SHOWN.includes(short)) await page.screenshot({ path: to("png"), fullPage: isFew });
    if (isFew && view === "print") await page.pdf({ path: to("pdf"), format: "A4", preferCSSPageSize: true });
  }
  if (pages.includes("search.html")) {
    await page.goto(`${site}search.html?q=held+out`);
    await page.waitForSelector("#search-results li", { timeout: 10000 }).catch(() => note("search", "finds nothing"));
    await page.screenshot({ path: path.join(screenshots, `${view}-search.png`) });
  }
}
console.log(`${pages.length} page${pages.length === 1 ? "" : "s"}, ${Object.keys(VIEWS).length} times`);
console.log(found.join("\n") || "no message, no request elsewhere, nothing too wide");
await browser.close();
server.close();
process.exitCode = found.length ? 1 : 0;
