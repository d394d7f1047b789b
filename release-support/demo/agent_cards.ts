// The agent cards that the demo's servers show. They are made up, and so is what stands for a signature: the Guild looks
// whether one is there, and verifies none.

const card = {
  name: "A made-up agent of the demo",
  protocolVersion: "0.3.0",
  skills: [{ id: "search", name: "Search" }],
};

/** A card that nobody signed. */
export const unsignedCard = card;

/** A card with something in the place of a signature. */
export const signedCard = { ...card, signatures: [{ protected: "made-up", signature: "made-up" }] };

/** A signed card that speaks of payment. */
export const paidCard = { ...signedCard, description: "Each search is paid for by x402." };
