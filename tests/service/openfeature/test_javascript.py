"""OpenFeature's JavaScript SDKs, from npm by the lock file: a server under Node.js, and a page in Chromium.

They need node and npm, and a registry that npm can reach: without, these tests skip and say so.
"""

from __future__ import annotations

import http.server
import json
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.report.chromium import Chromium, find
from tests.service.openfeature.conftest import Shop, opened

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "feature_flags"
PATH = find()
BROKEN_LOCK = ("EINTEGRITY", "EUSAGE")  # npm's errors for a package that is not the locked one, and an outdated lock


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's folder with its packages, installed as its page says."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("NOT RUN: OpenFeature's JavaScript SDKs; there is no node or no npm here")
    folder = tmp_path_factory.mktemp("npm") / "openfeature"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("node_modules"))
    command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240, check=False)
    assert not any(one in ran.stderr for one in BROKEN_LOCK), ran.stderr
    if ran.returncode:
        pytest.skip(f"NOT RUN: OpenFeature's JavaScript SDKs; npm could not install them: {ran.stderr.strip()[-300:]}")
    return folder


def node(folder: Path, *arguments: str) -> str:
    """What a script prints. It must end well and without complaint."""
    ran = subprocess.run(["node", *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_the_lock_has_hashes_and_no_addresses() -> None:
    packages: dict[str, Any] = json.loads((EXAMPLE / "package-lock.json").read_text())["packages"]
    asked = json.loads((EXAMPLE / "package.json").read_text())["dependencies"]
    assert packages.pop("")["dependencies"] == asked
    assert {f"node_modules/{name}" for name in asked} <= packages.keys()
    for name, one in packages.items():
        assert one["integrity"].startswith("sha512-") and "resolved" not in one, name
    assert "omit-lockfile-registry-resolved=true" in (EXAMPLE / ".npmrc").read_text().splitlines()


def test_a_server_evaluates_and_rewards(installed: Path, shop: Shop) -> None:
    said = node(installed, "shop.mjs", shop.url, shop.key)
    assert re.fullmatch(r"(user \d sees (red|green)\n){10}", said)
    assert sorted(str(line.reward) for line in shop.decisions()) == ["1.0"] * 5 + ["None"] * 5


def test_the_javascript_of_the_page_runs(installed: Path, open_shop: Shop) -> None:
    (block,) = re.findall(r"```js\n(.*?)```", (ROOT / "docs" / "openfeature.md").read_text("utf-8"), re.DOTALL)
    (installed / "page.mjs").write_text(block.replace("http://127.0.0.1:8000", open_shop.url))
    assert node(installed, "page.mjs") in ("red\n", "green\n")
    assert [line.reward for line in open_shop.decisions()] == [1.0]


AGAIN = """
import { OpenFeature } from '@openfeature/server-sdk';
import { OFREPProvider } from '@openfeature/ofrep-provider';
import { withRewards } from './rewards.mjs';

const sent = [], said = [];
console.warn = console.error = (text) => said.push(text);
const fetchImplementation = (address, words) => {
  if (String(address.url ?? address).endsWith('/reward')) {
    sent.push(words.body);
    if (sent.length === 1) return Promise.reject(new Error('no way through'));
  }
  return fetch(address, words);
};
const Provider = withRewards(OFREPProvider);
const provider = new Provider({
  baseUrl: process.argv[2], headers: [['X-Shop', 'a']], fetchImplementation, remembered: 1,
  headersFactory: async () => [['Authorization', `Bearer ${process.argv[3]}`]], rewards: { button: 'bought' },
});
await OpenFeature.setProviderAndWait(provider);
const flags = OpenFeature.getClient();
const details = await flags.getStringDetails('button', 'mine', { targetingKey: 'a' });
await flags.getStringDetails('button', 'mine', { targetingKey: 'b' });
flags.track('bought', { targetingKey: 'b' }, { value: 0.5 });
await provider.flush();
flags.track('bought', { targetingKey: 'a' });
flags.track('bought', {}, { value: 7, decision_id: details.flagMetadata.decision_id });
flags.track('nothing that is known', { targetingKey: 'b' });
await OpenFeature.close();
console.log(JSON.stringify({ sent: sent.map(JSON.parse), said }));
"""


def test_a_reward_is_sent_again_and_what_is_lost_is_said(installed: Path, shop: Shop) -> None:
    (installed / "again.mjs").write_text(AGAIN)
    told = json.loads(node(installed, "again.mjs", shop.url, shop.key))
    first, second, refused = told["sent"]
    assert first == second and first["value"] == 0.5 and refused["value"] == 7
    assert len(told["said"]) == 2
    assert "was not evaluated here for this targetingKey" in told["said"][0]
    assert "accepted are 0.0 to 1.0" in told["said"][1]
    assert [line.reward for line in shop.decisions()] == [None, 0.5]


# --- a browser ---


@contextmanager
def pages(folder: Path) -> Iterator[str]:
    """Static files on a free port: another origin than the service."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_request(self, *words: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def go(browser: Chromium, origin: str, folder: Path, shop: Shop) -> None:
    """To the page, in which the service's address and key are filled in."""
    text = (EXAMPLE / "page.html").read_text("utf-8")
    assert "'http://127.0.0.1:8000'" in text and "'KEY'" in text
    (folder / "page.html").write_text(text.replace("http://127.0.0.1:8000", shop.url).replace("KEY", shop.key))
    browser.call("Page.navigate", url=f"{origin}/page.html")


def until(so: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for what a page does after it was left alone."""
    end = time.monotonic() + seconds
    while not so():
        assert time.monotonic() < end
        time.sleep(0.05)


needs_browser = pytest.mark.skipif(PATH is None, reason="there is no Chromium here (Debian: apt-get install chromium)")


@pytest.mark.browser
@needs_browser
def test_a_page_evaluates_uses_and_rewards(installed: Path, tmp_path: Path) -> None:
    with pages(installed) as origin, opened(tmp_path, origins=(origin,)) as shop, Chromium(PATH or "") as browser:
        go(browser, origin, installed, shop)
        browser.wait("document.querySelector('button')?.hidden === false", 30)
        assert browser.evaluate("document.querySelector('button').style.color") in ("red", "green")
        (seen,) = shop.decisions()
        until(lambda: shop.ended(seen.decision_id))  # its flag was used: from now on a missing reward counts
        assert [line.reward for line in shop.decisions()] == [None]
        browser.evaluate("document.querySelector('button').click()")
        until(lambda: [(line.decision_id, line.reward) for line in shop.decisions()] == [(seen.decision_id, 1.0)])
        assert browser.errors == []


@pytest.mark.browser
@needs_browser
def test_a_page_of_another_origin_gets_nothing(installed: Path, tmp_path: Path) -> None:
    others = ("https://shop.example",)
    with pages(installed) as origin, opened(tmp_path, origins=others) as shop, Chromium(PATH or "") as browser:
        go(browser, origin, installed, shop)
        browser.wait("performance.getEntriesByType('resource').some((one) => one.name.endsWith('/flags'))", 30)
        assert browser.evaluate("document.querySelector('button').hidden") is True
        assert shop.decisions() == [] and any("CORS" in one for one in browser.errors)
