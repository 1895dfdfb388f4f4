"use strict";
// Two comforts, and nothing is remembered: the page's parts are read again every 2 s, and pictures tell their values.
(() => {
  const EVERY = 2000;
  const pulse = document.querySelector("[data-pulse]");
  const said = document.querySelector("[data-pulse-text]");
  let waiting = false;

  const tell = (ok, text) => {
    if (!pulse) return;
    pulse.hidden = false;
    pulse.classList.toggle("lost", !ok);
    pulse.classList.remove("beat");
    if (ok) requestAnimationFrame(() => pulse.classList.add("beat"));
    if (said.textContent !== text) said.textContent = text;
  };

  const swap = (fresh) => {
    for (const part of document.querySelectorAll("[data-live]")) {
      const other = fresh.getElementById(part.id);
      if (!other || other.innerHTML === part.innerHTML) continue;
      if (part.contains(pointed) || String(getSelection()) && getSelection().containsNode(part, true)) continue;
      const open = [...part.querySelectorAll("details[open]")].map((one) => one.id);
      const held = part.contains(document.activeElement) ? document.activeElement.id : "";
      const left = [...part.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
      part.replaceChildren(...other.childNodes);
      for (const id of open) { const one = document.getElementById(id); if (one) one.open = true; }
      part.querySelectorAll(".scroll").forEach((one, i) => { one.scrollLeft = left[i] || 0; });
      if (held) { const one = document.getElementById(held); if (one) one.focus({ preventScroll: true }); }
    }
    document.title = fresh.title;
  };

  const refresh = async () => {
    if (waiting || document.hidden) return;
    waiting = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (answer.redirected || answer.status === 401) { location.reload(); return; }
      if (!answer.ok) throw new Error(String(answer.status));
      swap(new DOMParser().parseFromString(await answer.text(), "text/html"));
      tell(true, "live");
    } catch {
      tell(false, "no answer");
    } finally {
      waiting = false;
    }
  };

  // --- what a picture says at the pointer ---
  let pointed = null;
  const hair = document.createElement("div");
  hair.className = "hair";
  const box = document.createElement("div");
  box.className = "readout";
  const moment = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZone: "UTC" });

  const leave = () => {
    hair.remove();
    box.remove();
    pointed = null;
  };

  const line = (row, value, unit) => {
    const div = document.createElement("div");
    if (row[0]) {
      const swatch = document.createElement("span");
      swatch.className = `swatch ${row[1]}`;
      const name = document.createElement("bdi");
      name.textContent = row[0];
      div.append(swatch, name);
    }
    const number = document.createElement("b");
    number.textContent = value === null ? "nothing seen" : value + unit;
    div.append(number);
    return div;
  };

  const point = (event) => {
    const chart = event.target.closest ? event.target.closest(".chart") : null;
    const picture = chart && chart.querySelector(".picture");
    if (!picture) { leave(); return; }
    const frame = picture.getBoundingClientRect();
    const place = (event.clientX - frame.left) / frame.width;
    if (place < 0 || place > 1) { leave(); return; }
    const data = chart.known || (chart.known = JSON.parse(chart.dataset.readout));
    const times = data.times;
    const now = data.ends[0] + place * (data.ends[1] - data.ends[0]);
    if (now > times[times.length - 1]) { leave(); return; }
    let low = 0, high = times.length - 2;
    while (low < high) { const mid = (low + high + 1) >> 1; if (times[mid] <= now) low = mid; else high = mid - 1; }
    const when = document.createElement("div");
    when.textContent = moment.format(new Date(times[low] * 1000));
    const rows = data.rows.map((row) => [row, row[2][low]]).filter((pair) => data.unit === "" || pair[1] > 0).reverse();
    box.replaceChildren(when, ...rows.map((pair) => line(pair[0], pair[1], data.unit)));
    if (pointed !== chart) { chart.append(hair, box); pointed = chart; }
    const around = chart.getBoundingClientRect();
    const x = event.clientX - around.left;
    hair.style.left = `${x}px`;
    hair.style.height = `${picture.querySelector(".box").getBoundingClientRect().height}px`;
    box.style.left = place < 0.5 ? `${x + 12}px` : "auto";
    box.style.right = place < 0.5 ? "auto" : `${around.width - x + 12}px`;
  };

  document.addEventListener("pointermove", point, { passive: true });
  document.addEventListener("pointerdown", point, { passive: true });
  document.addEventListener("pointerleave", leave);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") leave(); });
  document.addEventListener("visibilitychange", refresh);
  if (document.querySelector("[data-live]")) { tell(true, "live"); setInterval(refresh, EVERY); }
})();
