// The search of the documentation: `sections` stands above this, [url, title, page, text] each.
const input = document.getElementById("search"), found = document.getElementById("found"), pages = document.getElementById("pages");
// What readers call things that the pages call otherwise.
const ALSO = { vision: "sector", cone: "sector", fov: "sector", degrees: "radians", fog: "sight", wall: "walls", occlusion: "walls",
  hitscan: "sweep", raycast: "ray", rewind: "history", replication: "sync", interest: "area", visibility: "sees", hysteresis: "margin",
  lod: "tiers", mmo: "world", typescript: "npm", geofence: "fences", gps: "fences",
  vehicle: "attach", mount: "attach", compensation: "history", lag: "history" };
// A reader, or a question in Chinese, finds the pages of one language; in Chinese also those that there are in English alone.
const isChinese = (url) => /^zh\.|zh-CN/.test(url), urls = new Set(sections.map(([url]) => url.split("#")[0]));
const twin = (url) => { const html = url.split("#")[0]; return html === "index.html" ? "zh.html" : html.replace(".html", ".zh-CN.html"); };
const isShown = (url, chinese) => isChinese(url) === chinese || (chinese && !urls.has(twin(url)));
const escape = (text) => text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);
function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter((word) => word);
  pages.hidden = words.length > 0;
  found.innerHTML = "";
  if (!words.length) return;
  const hits = [], chinese = document.documentElement.lang === "zh-CN" || /[\u3400-\u9fff]/.test(input.value);
  for (const [url, title, page, text] of sections) {
    if (!isShown(url, chinese)) continue;
    const low = text.toLowerCase(), head = title.toLowerCase();
    let score = 0;
    for (const word of words) {
      const rank = (w) => (head.includes(w) ? 10 + (head === w ? 20 : 0) : 0) + (low.includes(w) ? 1 : 0);
      const here = rank(word) || (ALSO[word] ? rank(ALSO[word]) / 30 : 0);
      if (!here) { score = 0; break; }
      score += here;
    }
    if (score) hits.push([score, url, title, page, text, low.indexOf(words[0])]);
  }
  hits.sort((a, b) => b[0] - a[0]);
  found.innerHTML = hits.slice(0, 30).map(([, url, title, page, text, at]) =>
    `<li><a href="${url}">${escape(title)}<small>${escape(page)}: ${escape(text.slice(Math.max(0, at - 30), at + 70))}</small></a></li>`
  ).join("") || `<li>${chinese ? "没有" : "nothing"}</li>`;
}
input.addEventListener("input", search);
input.addEventListener("keydown", (event) => {
  const first = found.querySelector("a");
  if (event.key === "Enter" && first) location.href = first.href;
});
found.addEventListener("click", () => { input.value = ""; search(); if (matchMedia("(max-width: 50rem)").matches) menu.open = false; });
const menu = document.getElementById("menu");
if (matchMedia("(max-width: 50rem)").matches) menu.open = false;
