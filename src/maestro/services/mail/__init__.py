"""Mail: durable, addressed, with a receipt for every step that is proven and none that is not."""
