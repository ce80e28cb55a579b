/** How deep brackets may stand in each other in a message. Our own events have fewer than ten levels. */
export const MAX_JSON_DEPTH = 64;

/**
 * Brackets that open, and commas, in a message: an inventory of 20,000 objects with 50 values each has half of them. As parsed values
 * so many take about 150 MB at most.
 */
export const MAX_JSON_ELEMENTS = 2_000_000;
