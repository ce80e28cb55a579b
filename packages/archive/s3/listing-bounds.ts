/** S3 has no longer keys; the ids of uploads are shorter. */
const MOST_NAME_BYTES = 1024;
/** Together the names of the files of the largest manifest have less. */
const MOST_NAMES_BYTES = 256 * 1024 * 1024;
/** Storage may give a page with no names, where names were deleted. */
const MOST_EMPTY_PAGES = 100;

/** What one listing may say, whoever gives it, and however many pages it has. */
export class ListingBounds {
  #emptyPages = 0;
  #bytes = 0;

  /** What of a page was asked for. */
  take<Each extends { readonly Key?: string | undefined }>(
    prefix: string,
    page: readonly Each[] = [],
  ): readonly Each[] {
    const asked = page.filter(({ Key }) => Key?.startsWith(prefix));
    if (asked.length === 0) this.#emptyPages += 1;
    if (this.#emptyPages > MOST_EMPTY_PAGES)
      throw new Error(
        `the listing has no end: ${MOST_EMPTY_PAGES} of its pages name nothing that was asked for`,
      );
    return asked;
  }

  /** Sums of sizes bound what is asked for, and one that is negative or no number would undo that. */
  size(sizeBytes = 0): number {
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0)
      throw new Error('the listing gives an object a size that is no number of bytes');
    return sizeBytes;
  }

  /** The name as a text that does not keep all of its page in memory. */
  own(name: string): string {
    const bytes = Buffer.from(name);
    if (bytes.length > MOST_NAME_BYTES)
      throw new Error(`the listing has a name of more than ${MOST_NAME_BYTES} bytes`);
    this.#bytes += bytes.length;
    if (this.#bytes > MOST_NAMES_BYTES)
      throw new Error(`the names in the listing have more than ${MOST_NAMES_BYTES} bytes`);
    return bytes.toString();
  }
}
