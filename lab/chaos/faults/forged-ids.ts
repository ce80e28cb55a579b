/** How the ids begin of what a campaign forges: nobody answers for what such messages say. */
export const FORGED = 'forged-';
