import { describe, expect, test } from "@jest/globals";
import { page, pageBytesMax } from "../../../infra/rpc/paging.js";

interface Row extends Record<string, string | number | Uint8Array | null> {
  readonly position: number;
  readonly text: string;
}

/** All pages of a list of texts, each as the positions of its rows. */
async function pagesOf(texts: readonly string[], pageSize = 0): Promise<number[][]> {
  const all = texts.map((text, index): Row => ({ position: index + 1, text, nothing: null, hash: new Uint8Array(32) }));
  const pages: number[][] = [];
  for (let pageToken = ""; ;) {
    const { rows, nextPageToken } = await page("list", { pageSize, pageToken }, 0, (after, limit) =>
      Promise.resolve(all.filter(({ position }) => position > after).slice(0, limit)),
    );
    pages.push(rows.map(({ position }) => position));
    if (nextPageToken === "") return pages;
    pageToken = nextPageToken;
  }
}

describe("a page", () => {
  const third = "x".repeat(pageBytesMax / 3);

  test("has as many rows as were asked for, and a token if there are more", async () => {
    expect(await pagesOf(["a", "b", "c"], 2)).toEqual([[1, 2], [3]]);
    expect(await pagesOf(["a", "b"], 2)).toEqual([[1, 2]]);
    expect(await pagesOf([])).toEqual([[]]);
  });

  test("ends before it is too large, and the next goes on there", async () => {
    expect(await pagesOf([third, third, "small", third, third])).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
  });

  test("counts bytes, not characters", async () => {
    expect(await pagesOf(["é".repeat(pageBytesMax / 3), "é".repeat(pageBytesMax / 3)])).toEqual([[1], [2]]);
  });

  test("has one row, however large that is", async () => {
    const huge = "x".repeat(pageBytesMax + 1);
    expect(await pagesOf(["small", huge, huge, "small"])).toEqual([[1], [2], [3], [4]]);
  });
});
