import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { expect } from "chai";
import { chromium } from "playwright-core";
import type { BrowserContext, Page } from "playwright-core";

import { reportPage } from "../../../cli/report/page.ts";
import type { RunPicture } from "../../../cli/report/picture.ts";
import { cli } from "./support.ts";
import { HOSTILE, hostilePicture, plainPicture } from "./pictures.ts";

/** Where Debian's package chromium puts it. */
const CHROMIUM = "/usr/bin/chromium";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const WIDTHS = [375, 1440];
const SCHEMES = ["light", "dark"] as const;

// Node and npm are all that the suite needs, so without a browser these tests are not there. Where a browser belongs to the
// run, as in CI, its absence must not pass for tests that ran: they fail then.
if (existsSync(CHROMIUM) || process.env["AGENT_GUILD_BROWSER"] === "required") {
  describe("the picture of a run in a browser", function () {
    this.timeout(60_000);

    let folder: string;
    let browser: BrowserContext;
    const files = new Map<string, string>();

    before(async () => {
      if (!existsSync(CHROMIUM)) {
        throw new Error(`${CHROMIUM} is missing: install Debian's package chromium`);
      }
      folder = mkdtempSync(join(tmpdir(), "picture-"));
      const write = (name: string, picture: RunPicture) => {
        const file = join(folder, `${name}.html`);
        writeFileSync(file, reportPage(picture));
        files.set(name, file);
      };
      write("plain", plainPicture);
      write("hostile", hostilePicture);
      const demo = join(folder, "demo.html");
      expect((await cli(["demo", "--json", "--report", demo])).code).to.equal(0);
      files.set("demo", demo);
      browser = await chromium.launchPersistentContext(join(folder, "profile"), {
        executablePath: CHROMIUM,
        headless: true,
        args: FLAGS,
      });
    });

    after(async () => {
      await browser?.close();
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    });

    /** Opens a page and gives what it did beside showing itself. */
    async function open(name: string, width = 1440, colorScheme: "light" | "dark" = "light") {
      const page = await browser.newPage();
      const complaints: string[] = [];
      page.on("console", (message) => complaints.push(message.text()));
      page.on("pageerror", (error) => complaints.push(String(error)));
      page.on("dialog", (dialog) => complaints.push(dialog.message()));
      page.on("request", (request) => {
        if (!request.isNavigationRequest()) complaints.push(request.url());
      });
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await page.goto(pathToFileURL(files.get(name) ?? "").href);
      return { page, complaints };
    }

    async function withPage(
      name: string,
      look: (page: Page, complaints: readonly string[]) => Promise<void>,
      width?: number,
      scheme?: "light" | "dark",
    ): Promise<void> {
      const { page, complaints } = await open(name, width, scheme);
      try {
        await look(page, complaints);
      } finally {
        await page.close();
      }
    }

    for (const name of ["plain", "hostile", "demo"]) {
      for (const width of WIDTHS) {
        for (const scheme of SCHEMES) {
          it(`shows the ${name} one at ${width} pixels, ${scheme}: no error, no request, nothing cut off [C2]`, async () => {
            await withPage(
              name,
              async (page, complaints) => {
                const [content, window] = await page.evaluate<[number, number]>(
                  "[document.documentElement.scrollWidth, innerWidth]",
                );
                expect(content).to.be.at.most(window);
                expect(complaints).to.deep.equal([]);
              },
              width,
              scheme,
            );
          });
        }
      }
    }

    it("has text that stands out from its ground, by day and by night [C2]", async () => {
      for (const scheme of SCHEMES) {
        await withPage(
          "demo",
          async (page) => {
            const faint = await page.evaluate<string[]>(FAINT_TEXTS);
            expect(faint, scheme).to.deep.equal([]);
          },
          1440,
          scheme,
        );
      }
    });

    it("keeps hostile text inert: it runs nothing, makes no element and turns nothing around [C2]", async () => {
      await withPage("hostile", async (page, complaints) => {
        expect(await page.title()).to.equal("A run - Agent Guild preflight");
        expect(await page.locator("script, img").count()).to.equal(0);
        await page.locator("details.untrusted summary").click();
        const text = await page.locator("details.untrusted pre").innerText();
        expect(text).to.include("<script>").and.to.include("\\u{202e}desrever");
        expect(text).to.not.match(/[\u202e\u2066\u0000\u001b]/);
        expect(HOSTILE).to.include("\u202e");
        expect(complaints).to.deep.equal([]);
      });
    });

    it("can be read without script [C2]", async () => {
      const context = await chromium.launchPersistentContext(join(folder, "scriptless"), {
        executablePath: CHROMIUM,
        headless: true,
        args: FLAGS,
        javaScriptEnabled: false,
      });
      try {
        const page = await context.newPage();
        await page.goto(pathToFileURL(files.get("demo") ?? "").href);
        expect(await page.locator("article.request:visible").count()).to.be.above(17);
        await page.locator("label", { hasText: "denied" }).click();
        expect(await page.locator("article.request.ran:visible").count()).to.equal(0);
        expect(await page.locator("article.request.denied:visible").count()).to.be.above(10);
      } finally {
        await context.close();
      }
    });

    it("filters by outcome and by evidence [C2]", async () => {
      await withPage("plain", async (page) => {
        const visible = () => page.locator("article.request:visible").count();
        expect(await visible()).to.equal(2);
        await page.locator("#outcome-denied").check({ force: true });
        expect(await visible()).to.equal(1);
        await page.locator("#evidence-cached").check({ force: true });
        expect(await visible()).to.equal(0);
        await page.locator("#outcome-all").check({ force: true });
        expect(await page.locator("article.request.ran:visible").count()).to.equal(1);
        expect(await page.locator("tr.item:visible").count()).to.equal(1);
      });
    });

    it("can be worked with the keyboard [C2]", async () => {
      await withPage("plain", async (page) => {
        await page.locator("#outcome-all").focus();
        await page.keyboard.press("ArrowRight");
        expect(await page.locator("#outcome-ran").isChecked()).to.equal(true);
        expect(await page.locator("article.request:visible").count()).to.equal(1);
      });
    });
  });
}

/** Runs in the page: the texts whose contrast with what lies behind them is below 4.5 (WCAG 2, level AA). */
const FAINT_TEXTS = `(() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [red, green, blue] = channels(colour).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if ((channels(colour)[3] ?? 1) > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const faint = [];
  for (const element of document.querySelectorAll("main *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
    if (!own || element.getClientRects().length === 0) continue;
    const [one, other] = [luminance(getComputedStyle(element).color), luminance(ground(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) faint.push(element.tagName + " " + element.className + " " + contrast.toFixed(2));
  }
  return [...new Set(faint)];
})()`;
