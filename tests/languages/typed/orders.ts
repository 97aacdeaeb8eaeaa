import type { integer } from "portcullis-guest";

/** How many, at least one. @minimum 1 @maximum 99 */
export type Quantity = integer;

export type Size = "small" | "medium" | "large";

/** One line of an order. */
export interface Item {
  /**
   * Its article number.
   * @pattern ^[A-Z]{2}-\d+$
   */
  article: string;
  quantity: Quantity;
  size?: Size;
  /** Words that are put on it. */
  words?: Record<string, string>;
}

export interface Order {
  /** Who orders. @minLength 1 */
  customer: string;
  /** @minItems 1 */
  items: Item[];
  /** @format date */
  deliver?: string | null;
  /** @default "standard" */
  shipping?: "standard" | "express";
  /** How many items a parcel has. */
  perParcel?: Quantity;
}

export interface Receipt {
  /** The number of parcels. */
  parcels: integer;
  shipping: string;
  /** Undefined if nothing is said of it. */
  deliver?: string;
}

/** A part, and what it is made of. */
export interface Part {
  name: string;
  parts?: Part[];
}
