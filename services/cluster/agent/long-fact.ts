/** No more is taken into a fact that is so long: within the bounds of its topic, whatever the objects are like. */
export const LONG_FACT_CHARACTERS = 1_000_000;
